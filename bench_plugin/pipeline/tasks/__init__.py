"""The tasks of stages: which operation of which adapter an agent performs, with which inputs and recipe."""
