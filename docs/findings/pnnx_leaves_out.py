"""pnnx 20261020 leaves out what it does not translate, without a message.

Max (Min) of three tensors becomes BinaryOp of the first two; Max of one tensor becomes a reduction of all its elements; Shrink
becomes hard shrink with lambd 0.5 and bias 0, whatever the file says. ONNX: Max 13 is the element-wise maximum of every input,
Shrink 9 is x + bias below -lambd, x - bias above lambd, else 0. And a file whose weights are listed as inputs before its data
(allowed, and what IR 3 files look like) kills it: it removes the wrong ones of the inputs.
Needs: ncnn and pnnx, nothing else (the ONNX files are written by hand). Run: python pnnx_leaves_out.py   (ends with 1 while
the defects show)
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

a, b, c = (np.array(values, np.float32) for values in ([3, 2, 1], [1, 4, 4], [2, 5, 3]))
s = np.array([-2, -1, 0, 1, 2], np.float32)
lambd = block(5, block(1, "lambd") + varint(2 << 3 | 5) + np.float32(1.5).tobytes() + number(20, 1))
three = [value("x", a.shape), value("w", a.shape), value("z", a.shape)]
cases = (
    ("Max of three", model([node("Max", ["x", "w", "z"], ["y"])], three, [value("y", a.shape)]), (a, b, c), np.maximum(np.maximum(a, b), c)),
    ("Max of one", model([node("Max", ["x"], ["y"])], three[:1], [value("y", a.shape)]), (a,), a),
    ("Shrink, lambd 1.5", model([node("Shrink", ["x"], ["y"], lambd)], [value("x", s.shape)], [value("y", s.shape)]), (s,), np.where(abs(s) > 1.5, s, 0)),
)
wrong = False
for name, file, inputs, expected in cases:
    y = run(convert(file)[0], *inputs)
    right = y.shape == expected.shape and np.allclose(y, expected)
    wrong |= not right
    print(name, "gives", y.tolist(), "wanted", expected.tolist(), "right" if right else "WRONG")
for order in ("xwz", "wzx"):  # w and z are weights
    file = model(
        [node("Add", ["x", "w"], ["t"]), node("Add", ["t", "z"], ["y"])], [value(name, a.shape) for name in order],
        [value("y", a.shape)], [tensor("w", b), tensor("z", c)],
    )
    done = convert(file)[1]
    wrong |= done.returncode != 0
    print("inputs", order, "pnnx ends with", done.returncode, [line for line in done.stdout.splitlines() if "failed" in line])
sys.exit(int(wrong))
