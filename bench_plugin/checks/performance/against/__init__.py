"""Is this artefact slower than that of another run? Both are measured in turn, on the same machine or board."""
