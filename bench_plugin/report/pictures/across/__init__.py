"""Pictures across deployments: one module per picture, listed in ../registry.py."""
