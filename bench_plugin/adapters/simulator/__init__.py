"""A simulated accelerator: its compiler and runtime, its integers and its cycle model."""
