"""Choosing a deployment."""
