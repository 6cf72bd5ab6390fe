"""The agent, a process in a toolchain on the host or on a board. Python 3.8 or later, standard library only."""
