"""Texts for people: what is masked in them, how messages are normalised, and hints at valid names."""
