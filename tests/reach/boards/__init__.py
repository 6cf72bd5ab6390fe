"""Boards: their links, emulated machines, and faults."""
