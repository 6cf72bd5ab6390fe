"""The common part of the checks of compiled models: compile, deploy, run."""
