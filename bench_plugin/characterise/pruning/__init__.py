"""Fewer channels and fewer weights: what pruned variants cost, whether that adds to quantisation, and sparse sizes."""
