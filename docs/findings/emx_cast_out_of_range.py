"""emx-onnx-cgen 1.4.0 (arguable): a negative float becomes another unsigned integer of 2 or 4 bits than in onnx's cases.

Rule: ONNX Cast 25, whose rules CastLike 25 has: from floating point to fixed point, "undefined if OOR (out of range)".
The values that onnx expects in its own cases are the lower bits of the number. emx writes a plain C cast to _BitInt,
which C leaves undefined there too (C23 6.3.1.4), so what comes out is the C compiler's. Arguable for that reason.
Upstream: none known.
Needs emx-onnx-cgen==1.4.0, ziglang, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import ctypes
import importlib
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from emx_onnx_cgen.compiler import Compiler, CompilerOptions
from onnx import helper as h

importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
os.chdir(tempfile.mkdtemp())
os.environ["ZIG_GLOBAL_CACHE_DIR"] = os.path.join(os.getcwd(), "cache")
wrong = 0
given = np.arange(-16, 0, dtype=np.float32)
for name, bits in [("UINT4", 15), ("UINT2", 3)]:
    to = getattr(onnx.TensorProto, name)
    ports = [h.make_tensor_value_info(port, of, [given.size]) for port, of in [("x", 1), ("like", to), ("y", to)]]
    graph = h.make_graph([h.make_node("CastLike", ["x", "like"], ["y"])], "g", ports[:2], ports[2:])
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 25)], ir_version=12)
    source, _ = Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(model)
    with open("model.c", "w") as file:
        file.write(source)
    zig = [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline", "-std=c2x", "-O2", "-w", "-fno-sanitize=all"]
    subprocess.run([*zig, "-shared", "-fPIC", "model.c", "-o", name + ".so"], check=True)
    like, y = np.zeros(given.size, np.uint8), np.full(given.size, 99, np.uint8)
    ctypes.CDLL(os.path.abspath(name + ".so")).model(*(ctypes.c_void_p(a.ctypes.data) for a in (given, like, y)))
    expected = given.astype(np.int64) & bits
    if any(y & bits != expected):
        wrong = 1
        print("expected", name, *expected)
        print("got     ", name, *(y & bits))
sys.exit(wrong)
