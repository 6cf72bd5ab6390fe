"""Pictures of one deployment: one module per picture, listed in ../deployment.py."""
