"""apache-tvm 0.27.0.post1: an input that is a sequence or an optional value is taken for a tensor.

Rule: onnx.proto, TypeProto: the type of a graph's input may be sequence_type or optional_type; Identity 16,
OptionalGetElement 18 and OptionalHasElement 18 take such inputs.
The frontend gives each input the type Tensor, so that the virtual machine refuses a list and an absent value.
Upstream: none known.
Needs apache-tvm==0.27.0.post1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys
import warnings

import numpy as np
import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

warnings.simplefilter("ignore")  # shapes that the file leaves open
SEQUENCE = [tvm.runtime.tensor(np.ones(2, np.float32))]
CASES = {
    "Identity": ("(seq(float[2]) x) => (seq(float[2]) y) { y = Identity(x) }", SEQUENCE),
    "OptionalGetElement": ("(seq(float[2]) x) => (seq(float[2]) y) { y = OptionalGetElement(x) }", SEQUENCE),
    "OptionalHasElement": ("(optional(float[2]) x) => (bool y) { y = OptionalHasElement(x) }", None),
}
refused = 0
for operator, (text, value) in CASES.items():
    model = onnx.parser.parse_model('<ir_version: 9, opset_import: ["": 18]> g ' + text)
    onnx.checker.check_model(model, full_check=True)
    machine = relax.VirtualMachine(relax.build(from_onnx(model), tvm.target.Target("llvm")), tvm.cpu())
    try:
        got = f"a result, {machine['main'](value)}"
    except TypeError as error:
        refused += 1
        got = " ".join(str(error).split())[-160:]
    print(f"expected {operator} of {'nothing' if value is None else 'a sequence'}: a result\ngot      {got}")
sys.exit(int(refused > 0))
