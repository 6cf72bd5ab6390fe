"""Predictions: what a platform could give a model, by the roofline, and how well that was borne out by measurements."""
