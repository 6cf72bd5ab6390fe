"""Targets and boards: the files that describe them."""
