"""Export to ONNX and import back, with the numbers compared."""
