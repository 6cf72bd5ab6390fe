"""What compilers quantised, read back from their artefacts."""
