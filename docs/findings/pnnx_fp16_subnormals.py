"""pnnx 20261020, fp16=1: float16 subnormals become zero, and ties are rounded away from zero.

A float32 weight below 2**-14 (6.1e-5) has a float16 value (a subnormal), which IEEE rounding keeps; pnnx writes 0. A
weight half-way between two float16 values goes to the even one by IEEE's rule; pnnx takes the larger. With
digits_cnn: 12 of 9,872 weights flushed, 3 ties, and E 1.4e-5 against the file with weights rounded by IEEE's rule (tolerance 4.8e-6).
Also: of an LSTM layer the biases are stored in float16 too (two layers and a dense one give 7 tagged blobs), MemoryData is not.
Needs: ncnn's toolchain and onnx. Run: python pnnx_fp16_subnormals.py /path/to/pnnx/pnnx
"""
import subprocess, sys, tempfile
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper

tie = np.float32(2044.5 * 2.0**-18)
w = np.array([[1.0, 3.4431618e-05, -3.0010939e-05, tie]], np.float32).reshape(1, 4, 1, 1)
graph = helper.make_graph(
    [helper.make_node("Conv", ["x", "w"], ["y"])], "g",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, 1, 1])], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 1, 1, 1])],
    [numpy_helper.from_array(w, "w")],
)
folder = tempfile.mkdtemp()
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder + "/m.onnx")
subprocess.run([sys.argv[1], "m.onnx", "inputshape=[1,4,1,1]f32", "fp16=1"], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
data = open(folder + "/m.ncnn.bin", "rb").read()
print(open(folder + "/m.ncnn.param").read())
at = data.index((0x01306B47).to_bytes(4, "little")) + 4
print("wanted", w.ravel().astype("f2").astype("f4").tolist())
print("wrote ", np.frombuffer(data, "<f2", 4, at).astype("f4").tolist())
