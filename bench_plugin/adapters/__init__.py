"""Adapters: one file per framework, compiler or tool, read as data on the host and run inside an agent."""
