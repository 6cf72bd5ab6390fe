"""The mutants of ONNX files: what is changed in a graph, where, and what each changed file computes."""
