"""What the actions of ``bench board`` do."""
