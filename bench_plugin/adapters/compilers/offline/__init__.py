"""Compilers whose artefacts nothing here runs."""
