"""What a run leaves: rows, expectations (known failures) and what they make of an outcome."""
