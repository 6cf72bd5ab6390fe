"""The link over a network: the token, authenticated connections, and the listener that gives out the board."""
