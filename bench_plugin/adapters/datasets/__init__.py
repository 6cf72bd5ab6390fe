"""One dataset per file."""
