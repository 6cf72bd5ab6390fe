"""OpenVINO 2026.4.1 (not supported): sequences and optional values that cannot be folded away are refused.

Rule: ONNX IR specification, section Standard data types: values may be sequences and optionals. SequenceInsert 11, Loop
13 and 16, Optional 15, If 16 and Identity 25 take and give them; each is one of onnx's own cases. A sequence that is
an input or output of the graph, or is carried by a Loop, is not folded away.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys
import warnings

import openvino as ov
from onnx.backend.test import loader

CASES = {
    "Identity of a sequence": "test_identity_sequence",
    "SequenceInsert into an input": "test_sequence_insert_at_back",
    "SequenceInsert in a Loop": "test_loop13_seq",
    "Optional of a sequence in an If": "test_if_opt",
    "OptionalHasElement before a Loop with a sequence": "test_loop16_seq_none",
}

warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
models = {case.name: case.model for case in loader.load_model_tests(kind="node")}
core = ov.Core()
refused = 0
for what, name in CASES.items():
    try:
        core.compile_model(core.read_model(models[name].SerializeToString()), "CPU")
    except RuntimeError as error:
        refused += 1
        said = str(error).split("Summary:")[-1].split("To facilitate")[0]
        print(f"expected  {what}: compiled")
        print(f"got       {what}:", " ".join(said.split())[-130:])
sys.exit(int(refused > 0))
