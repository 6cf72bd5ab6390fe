"""What several tools for ONNX files take: names that nodes read, sizes, sums, groups, and memory of the evaluator."""
