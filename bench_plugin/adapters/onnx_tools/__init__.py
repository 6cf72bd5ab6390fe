"""Our own tools on ONNX files: checks, float64 evaluation, mutants, subgraph extraction."""
