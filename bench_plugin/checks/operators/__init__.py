"""ONNX's own operator tests in every backend."""
