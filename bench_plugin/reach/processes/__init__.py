"""Agents as processes of this machine: supervisor, client, guardian."""
