"""Times and what is recorded beside them: statistics, power, determinism, and two runs or artefacts compared."""
