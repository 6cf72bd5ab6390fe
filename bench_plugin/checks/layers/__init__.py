"""The check of single layers and of stacks of them: levels 1 and 2 of a model (docs/layers.md)."""
