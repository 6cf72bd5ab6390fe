"""ExecuTorch: quantised programs of PyTorch read back as layers of ONNX, operator by operator."""
