"""One framework per file, and how models are trained in it."""
