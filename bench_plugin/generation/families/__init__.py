"""Operators that are generated alike, one file per family."""
