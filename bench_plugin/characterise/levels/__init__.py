"""Levels 1 and 2 of a model: its single layers, stacks of them, and their figures (docs/layers.md)."""
