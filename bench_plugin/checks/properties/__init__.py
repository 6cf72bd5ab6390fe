"""Generated graphs in every backend, searched for failures."""
