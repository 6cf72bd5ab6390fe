"""The process at the far end: in a toolchain on the host, or on a board. Python 3.8, standard library only."""
