"""Files with integers of few bits: cases of operators, graphs of models, and files of QONNX."""
