"""The page of levels 1 and 2: single layers and stacks of them (docs/layers.md)."""
