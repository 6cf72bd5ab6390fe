"""Weights stored as float16: which constants of an ONNX file a tool rounds, how, and what it computes before."""
