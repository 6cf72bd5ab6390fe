"""Known failures: the files of expectations, how they judge an outcome, and how they are reviewed and written."""
