"""Operators for onnx's reference evaluator by family: windows, settings, recurrence, loops, quantisation, blocks."""
