"""Generated graphs in every backend, searched for failures that nobody wrote down."""
