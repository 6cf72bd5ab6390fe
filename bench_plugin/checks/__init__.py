"""One folder per kind of check: plan.py says which cells there are, check.py carries one through its stages."""
