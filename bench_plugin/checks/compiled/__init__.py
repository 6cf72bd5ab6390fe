"""What the checks of compiled models share: compile, deploy, run."""
