"""Tools that say which of ONNX's operators a compiler lists as its own, one file per compiler."""
