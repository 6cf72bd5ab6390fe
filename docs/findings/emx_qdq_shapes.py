"""emx-onnx-cgen 1.4.0 (stage compile, symptom unsupported): shape arithmetic is not folded through QuantizeLinear/DequantizeLinear.

Static input, but a Reshape's target computed as Shape -> Gather -> Concat and QDQ pairs around the Reshape (what
ONNX Runtime's quantize_static writes for a transformer). Without the QDQ pairs it compiles. The message names the first
tensor with an unresolved dimension, not the operator that refused (the real error is swallowed).
Needs: pip install emx-onnx-cgen==1.4.0
"""
import subprocess, sys
from pathlib import Path
import numpy as np, onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

info = h.make_tensor_value_info
scale, zero = nh.from_array(np.float32(0.1), "s"), nh.from_array(np.uint8(128), "z")
consts = [scale, zero, nh.from_array(np.int64(1), "one"), nh.from_array(np.array([0], np.int64), "ax"), nh.from_array(np.array([2], np.int64), "two"), nh.from_array(np.array([3], np.int64), "three")]
for quantised in (False, True):
    n = [h.make_node("Shape", ["x"], ["sh"]), h.make_node("Gather", ["sh", "one"], ["g"]), h.make_node("Unsqueeze", ["g", "ax"], ["u"]), h.make_node("Div", ["u", "three"], ["d"]), h.make_node("Concat", ["three", "d"], ["t"], axis=0)]
    src = "x"
    if quantised:
        n += [h.make_node("QuantizeLinear", ["x", "s", "z"], ["q"]), h.make_node("DequantizeLinear", ["q", "s", "z"], ["dq"])]; src = "dq"
    n += [h.make_node("Reshape", [src, "t"], ["r"])]
    out = "r"
    if quantised:
        n += [h.make_node("QuantizeLinear", ["r", "s", "z"], ["q2"]), h.make_node("DequantizeLinear", ["q2", "s", "z"], ["dq2"])]; out = "dq2"
    n += [h.make_node("Split", [out], ["a", "b", "c"], axis=0, num_outputs=3), h.make_node("Concat", ["a", "b", "c"], ["y"], axis=0)]
    m = h.make_model(h.make_graph(n, "g", [info("x", T.FLOAT, [1, 12])], [info("y", T.FLOAT, [3, 4])], consts), opset_imports=[h.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(m, full_check=True)
    path = Path(f"qdq_{quantised}.onnx"); onnx.save(m, path)
    done = subprocess.run([Path(sys.executable).parent / "emx-onnx-cgen", "compile", path, path.with_suffix(".c")], capture_output=True, text=True)
    print("QDQ:", quantised, "-> status", done.returncode, (done.stdout + done.stderr).strip().splitlines()[-1][:250])
