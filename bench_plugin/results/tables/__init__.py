"""Rows as flat tables: declared columns, CSV and Parquet, and the description of a dataset."""
