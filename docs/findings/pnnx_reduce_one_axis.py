"""pnnx 20261020: a reduction over exactly one axis, given as an input (opset 18; ReduceSum since 13), reduces nothing.

The axes come out of pnnx as the scalar dim=2 where two of them are dim=(1,2) and the attribute of older opsets is dim=(2); the
scalar is not written for ncnn: the layer reads -23303=0, an empty list of axes, and gives its input back. No message. ONNX
ReduceSum 13 / ReduceMean 18: "the result has the same rank as the input" with the reduced axes of size 1. So LayerNormalization,
RMSNormalization, GroupNormalization, Softmax and LogSoftmax are wrong wherever they are written out as functions.
Needs: ncnn and pnnx, nothing else (the ONNX file is written by hand). Run: python pnnx_reduce_one_axis.py   (ends with 1 while
the defect shows)
"""
import importlib.util, os, subprocess, sys, tempfile
import ncnn, numpy as np


def varint(n):
    out = b""
    n &= 2**64 - 1
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def number(field, n):
    return varint(field << 3) + varint(n)


def block(field, data):
    data = data.encode() if isinstance(data, str) else data
    return varint(field << 3 | 2) + varint(len(data)) + data


def value(name, shape, kind=1):
    dims = b"".join(block(1, number(1, dim)) for dim in shape)
    return block(1, name) + block(2, block(1, number(1, kind) + block(2, dims)))


def node(op, inputs, outputs, attributes=b""):
    return b"".join(block(1, name) for name in inputs) + b"".join(block(2, name) for name in outputs) + block(4, op) + attributes


def tensor(name, array):
    dims = b"".join(number(1, dim) for dim in array.shape)
    return dims + number(2, {"float32": 1, "int64": 7}[array.dtype.name]) + block(8, name) + block(9, array.tobytes())


def model(nodes, inputs, outputs, weights=(), opset=18):
    graph = b"".join(block(1, one) for one in nodes) + block(2, "g") + b"".join(block(5, one) for one in weights)
    graph += b"".join(block(11, one) for one in inputs) + b"".join(block(12, one) for one in outputs)
    return number(1, 8) + block(8, block(1, "") + number(2, opset)) + block(7, graph)


def convert(data):
    folder = tempfile.mkdtemp()
    with open(os.path.join(folder, "m.onnx"), "wb") as file:
        file.write(data)
    pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")
    done = subprocess.run([pnnx, "m.onnx", "fp16=0"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return folder, done


def run(folder, *inputs):
    with open(os.path.join(folder, "m.ncnn.param")) as file:
        print("\n".join(line for line in file.read().splitlines()[2:] if not line.startswith("Input")))
    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    assert net.load_param(os.path.join(folder, "m.ncnn.param")) == 0 and net.load_model(os.path.join(folder, "m.ncnn.bin")) == 0
    extractor = net.create_extractor()
    for index, x in enumerate(inputs):
        extractor.input("in%d" % index, ncnn.Mat(x, batch_index=233).clone())  # 233: none is the batch, as pnnx's own script has it
    return np.array(extractor.extract("out0")[1].numpy(batch_index=233))

x = np.arange(1, 61, dtype=np.float32).reshape(3, 4, 5)
wrong = False
for op, want, axes in (("ReduceSum", np.sum, (2,)), ("ReduceMean", np.mean, (2,)), ("ReduceSum", np.sum, (1, 2))):
    expected = want(x, axis=axes, keepdims=True)
    file = model([node(op, ["x", "axes"], ["y"])], [value("x", x.shape)], [value("y", expected.shape)], [tensor("axes", np.array(axes))])
    y = run(convert(file)[0], x)
    right = y.shape == expected.shape and np.allclose(y, expected)
    wrong |= not right
    print(op, axes, "gives", y.shape, y.ravel()[:3], "wanted", expected.shape, expected.ravel()[:3], "right" if right else "WRONG")
sys.exit(int(wrong))
