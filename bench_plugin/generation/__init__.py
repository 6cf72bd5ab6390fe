"""Generated graphs for property-based tests, as plain data."""
