"""One folder per kind of check: plan.py says which cells there are, check.py runs a cell through its stages."""
