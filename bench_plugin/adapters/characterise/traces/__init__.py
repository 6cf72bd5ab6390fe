"""Tools that read which nodes of a model a compiled graph still names, one file per compiler."""
