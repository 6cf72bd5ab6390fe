"""What everything else speaks of: cells, axes, outcomes, precisions, settings, errors, paths."""
