"""Choosing a deployment: constraints first, then the Pareto set, and a weighted score on request."""
