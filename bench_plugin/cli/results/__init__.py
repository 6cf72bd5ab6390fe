"""Subcommands that read and judge the results of runs."""
