"""What the subcommands share: their arguments and exit codes, and how they print."""
