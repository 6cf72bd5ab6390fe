"""onnxruntime 1.31.1: Attention of bfloat16 with a mask and is_causal is refused for its own expansion's types.

Rule: ONNX Attention 23, T1 and U: q, k, v and attn_mask may be bfloat16, together with is_causal = 1. onnxruntime
writes the operator out itself; the mask that it makes for is_causal (and for Attention 24's nonpad_kv_seqlen) stays
float32, and its Add to the bfloat16 attn_mask is of two types. Three of onnx's own cases.
Upstream: none known.
Needs onnxruntime==1.31.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import onnx
import onnxruntime
from onnx import parser

model = parser.parse_model("""
<ir_version: 10, opset_import: ["": 23]>
g (bfloat16[1,1,2,1] q, bfloat16[1,1,2,1] k, bfloat16[1,1,2,1] v, bfloat16[2,2] m) => (bfloat16[1,1,2,1] y) {
    y = Attention<is_causal = 1>(q, k, v, m)
}
""")
onnx.checker.check_model(model, full_check=True)
onnxruntime.set_default_logger_severity(4)
try:
    onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    said = "a session"
except Exception as error:  # a class of the extension module
    said = str(error).splitlines()[0][:200]
print("expected a session")
print("got     ", said)
sys.exit(int("bound to different types" in said))
