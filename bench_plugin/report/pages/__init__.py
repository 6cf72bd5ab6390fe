"""What a page of each grid holds."""
