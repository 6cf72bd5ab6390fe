"""Quantised graphs taken apart into layers, and what the layers give before they round."""
