"""One renderer per format."""
