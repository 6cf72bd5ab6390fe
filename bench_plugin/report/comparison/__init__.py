"""What changed between two runs: statuses first, then numbers, then time, then instructions and bytes."""
