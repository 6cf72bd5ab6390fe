"""The terms of all other rooms: cells, axes, outcomes, precisions, settings, errors, paths."""
