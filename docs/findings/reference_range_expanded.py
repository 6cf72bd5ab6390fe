"""onnx 1.23.2: the reference evaluator gives shape [2, 1] for ONNX's own test_range_float_type_positive_delta_expanded
(and int32, float16, bfloat16), whose expected output is [2]: Loop's scan output of a [1]-shaped or scalar value is
stacked with one dimension too many. Specification: Loop concatenates scan outputs along a new first axis, and Range is 1-D.
"""
import onnx
from onnx.backend.test.loader import load_model_tests
from onnx.reference import ReferenceEvaluator
case = next(c for c in load_model_tests(kind="node") if c.name == "test_range_float_type_positive_delta_expanded")
inputs, outputs = case.data_sets[0]
names = [value.name for value in case.model.graph.input]
found = ReferenceEvaluator(case.model).run(None, dict(zip(names, inputs)))
print(onnx.__version__, "found", found[0].shape, "expected", outputs[0].shape)
