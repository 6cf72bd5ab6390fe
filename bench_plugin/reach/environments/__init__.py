"""Toolchains: isolated Python environments, their locks, and uv, which makes them."""
