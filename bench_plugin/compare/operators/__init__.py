"""When the result of a single operator is right (docs/operators.md, the table of rules).

There are two verdicts: ``strict`` compares with a result that was recomputed in float64, by a rule for each kind of
operator; ``stock`` compares with the outputs that ONNX's test holds, within the tolerance of ONNX's own test runner.
"""
