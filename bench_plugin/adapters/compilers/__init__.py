"""One compiler or runtime per file."""
