"""Which nodes of a model a compiler takes, what its compiled graph still names, and how compilers compare."""
