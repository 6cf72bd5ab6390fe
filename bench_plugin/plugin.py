"""pytest hooks: thin, no domain logic."""
