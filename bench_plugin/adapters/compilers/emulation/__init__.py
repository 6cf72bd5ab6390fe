"""Compilers for hardware that their own software emulates on this machine."""
