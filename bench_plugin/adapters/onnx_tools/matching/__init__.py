"""Constants that were read back from an artefact, compared with those of its ONNX file."""
