"""Subcommands for what runs need: toolchains, boards, the cache, the corpus."""
