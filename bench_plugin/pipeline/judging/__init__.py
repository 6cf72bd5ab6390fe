"""The judge: from the arrays of finished stages to distances, noise and a verdict."""
