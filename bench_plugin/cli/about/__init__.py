"""Subcommands about the product itself: what can be named, the schemas of its files, the shell's completion."""
