"""Linux boards: agents in Python over ssh, the runtimes that they need, and the emulated board with its image."""
