"""Subcommands about how good a model could be on a platform: what it needs."""
