"""The simulated accelerator."""
