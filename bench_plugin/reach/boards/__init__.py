"""Boards: how agents on other machines, and on emulated ones, are reached."""
