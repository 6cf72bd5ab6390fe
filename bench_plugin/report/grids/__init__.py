"""From rows to tables: one grid per kind of check."""
