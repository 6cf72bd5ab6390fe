"""What a model needs, as pure functions over what an ONNX file is made of (docs/needs.md)."""
