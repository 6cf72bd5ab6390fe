"""Stages as tasks: what an agent is asked for, with which inputs, under which recipe."""
