"""Tools that read what a model is made of."""
