"""Graphs that nobody wrote: which operators there are, how they are drawn, and the plain data that they are."""
