"""emx-onnx-cgen 1.4.0: elements of a sequence whose sizes are open get those of another tensor of the graph.

Rule: ONNX IR specification, section Static tensor shapes: a shape may be left open, here that of a sequence's elements,
which is a number in onnx's own case, test_loop16_seq_none.
emx has a pattern for this Loop, and gives the elements of its input the five numbers of a constant that the Loop cuts.
No size of an element is passed with the input, so that a caller cannot say that it is a number; others of emx's
sequences have such a size (__dim_0), and without the pattern it asks for the sizes as an option.
Upstream: none known.
Needs emx-onnx-cgen==1.4.0, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib
import re
import sys
import warnings

from emx_onnx_cgen.compiler import Compiler, CompilerOptions
from onnx.backend.test import loader

warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
model = next(case.model for case in loader.load_model_tests(kind="node") if case.name == "test_loop16_seq_none")
importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
source, _ = Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
signature = re.search(r"^void model\(.*?\)", source, re.MULTILINE)[0]
given = re.findall(r"[^(,]*\bopt_seq\w*[^,)]*", signature)
print("expected  elements of any size, with their sizes, or a question for them")
print("got      ", ";".join(given))
sys.exit(int("opt_seq[EMX_SEQUENCE_MAX_LEN][5]" in signature and "opt_seq__dim_0" not in signature))
