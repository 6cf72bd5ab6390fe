"""The results of a run: rows, expectations (known failures) and how they judge an outcome."""
