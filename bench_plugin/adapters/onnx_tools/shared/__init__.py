"""What several tools for ONNX files take: names that nodes read, and recurrent layers for the reference evaluator."""
