"""Engines: what computes the cells of a run, on this machine or on others."""
