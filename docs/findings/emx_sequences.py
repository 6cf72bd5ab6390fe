"""emx-onnx-cgen 1.4.0 (not supported): a sequence whose elements have open sizes is refused without an option.

Rule: ONNX IR specification, section Static tensor shapes: a shape may be left open. SequenceInsert 11, SequenceMap 17
and Identity 25 take such sequences; each is one of onnx's own cases. emx documents that it wants the largest sizes as
an option (sequence_element_shapes), with which it writes the C.
Upstream: none known.
Needs emx-onnx-cgen==1.4.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib
import sys
import warnings

from emx_onnx_cgen.compiler import Compiler, CompilerOptions
from onnx.backend.test import loader

CASES = {
    "Identity": "test_identity_sequence",
    "SequenceInsert": "test_sequence_insert_at_back",
    "SequenceMap": "test_sequence_map_identity_1_sequence",
    "SequenceMap of two sequences": "test_sequence_map_add_2_sequences",
    "SequenceMap of shapes": "test_sequence_map_extract_shapes",
    "SequenceMap written as a Loop": "test_sequence_map_identity_1_sequence_expanded",
}

warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
models = {case.name: case.model for case in loader.load_model_tests(kind="node")}
importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
refused = 0
for what, name in CASES.items():
    try:
        Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(models[name])
    except Exception as error:  # of emx's own type
        refused += 1
        print(f"expected  {what}: written as C")
        print(f"got       {what}:", " ".join(str(error).split())[:200])
sys.exit(int(refused > 0))
