"""Graphs for property-based tests: what is generated, as plain data."""
