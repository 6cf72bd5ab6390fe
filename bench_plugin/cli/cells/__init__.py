"""Subcommands for one cell of a run: repeat it, reduce it, find where it goes wrong."""
