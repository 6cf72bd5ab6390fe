"""The index over the rows of many runs, in DuckDB: made from rows, made again from them, and never the only copy."""
