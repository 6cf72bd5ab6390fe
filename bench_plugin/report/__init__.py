"""Grids and pages, made from results files only; nothing here runs a cell."""
