"""onnx2tf 1.29.24: causal Attention with nonpad_kv_seqlen lets the query see the first key only.

Rule: ONNX Attention 24: with nonpad_kv_seqlen the causal mask is shifted by nonpad_kv_seqlen - q_sequence_length, so
that the last query sees all keys that are no padding.
All keys are equal, so that the result is the mean of the three values that count: (0 + 2 + 4) / 3 and (1 + 3 + 5) / 3.
Needs onnx2tf==1.29.24 with its dependencies (tensorflow-cpu==2.21.0), onnx and numpy.
Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import onnx
import onnx2tf
from onnx import helper as h

os.chdir(tempfile.mkdtemp())
inputs = {
    "q": np.zeros((1, 1, 1, 2), np.float32),
    "k": np.zeros((1, 1, 4, 2), np.float32),
    "v": np.arange(8, dtype=np.float32).reshape(1, 1, 4, 2),
    "n": np.array([3], np.int64),
}
expected = np.array([[[[2, 3]]]], np.float32)
kind = h.np_dtype_to_tensor_dtype
ports = [h.make_tensor_value_info(k, kind(x.dtype), x.shape) for k, x in inputs.items()]
nodes = [h.make_node("Attention", ["q", "k", "v", "", "", "", "n"], ["y"], is_causal=1)]
outputs = [h.make_tensor_value_info("y", kind(expected.dtype), expected.shape)]
graph = h.make_graph(nodes, "g", ports, outputs)
model = h.make_model(graph, opset_imports=[h.make_opsetid("", 24)], ir_version=10)
onnx.checker.check_model(model, full_check=True)
onnx.save(model, "m.onnx")
net = onnx2tf.convert(
    input_onnx_file_path="m.onnx",
    output_folder_path="out",
    non_verbose=True,
    disable_model_save=True,
    keep_shape_absolutely_input_names=list(inputs),
)
y = np.asarray(net(list(inputs.values())))
print("expected", expected.dtype, expected.shape, expected.ravel()[:16].tolist())
print("got     ", y.dtype, y.shape, y.ravel()[:16].tolist())
sys.exit(int(y.shape != expected.shape or not np.allclose(y, expected)))
