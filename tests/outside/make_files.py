"""ONNX files of every kind that users bring, written to the folder that is given; runs where onnx is installed."""

import os
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(0)
NODE = helper.make_node


def weight(name, *shape, scale=None):
    """Seeded numbers with variance 2 / inputs, whose number is the first dimension, or of the given scale."""
    values = RNG.standard_normal(shape) * (scale or (2 / shape[0]) ** 0.5)
    return numpy_helper.from_array(values.astype("float32"), name)


def whole(name, *values):
    return numpy_helper.from_array(np.array(values, dtype=np.int64), name)


def port(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def save(name, nodes, inputs, weights, outputs=(4,), kind=TensorProto.FLOAT, **options):
    graph = helper.make_graph(nodes, name, inputs, [port("y", kind, outputs and ["n", *outputs])], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, f"{name}.onnx", **options)


def dense():
    """Two layers from 16 to 4 numbers: nodes and weights."""
    nodes = [NODE("Gemm", ["x", "w", "b"], ["h"]), NODE("Relu", ["h"], ["r"]), NODE("Gemm", ["r", "v", "c"], ["y"])]
    sizes = {"w": (16, 32), "b": (32,), "v": (32, 4), "c": (4,)}
    return nodes, [weight(name, *shape) for name, shape in sizes.items()]


def main(folder):
    os.chdir(folder)
    numbers = [port("x", TensorProto.FLOAT, ["n", 16])]
    mean = NODE("ReduceMean", ["e"], ["m"], axes=[1], keepdims=0)
    head = NODE("Gemm", ["m", "w", "b"], ["y"])

    # Identifiers that reach their table of five rows through other operators.
    through = [
        NODE("Cast", ["ids"], ["i"], to=7), NODE("Unsqueeze", ["i", "axis"], ["u"]),
        NODE("Gather", ["table", "u"], ["f"]), NODE("Squeeze", ["f", "axis"], ["e"]),
    ]  # fmt: skip
    table = [weight("table", 5, 8, scale=1.0), weight("w", 8, 4), weight("b", 4)]
    save("ids", [*through, mean, head], [port("ids", TensorProto.INT32, ["n", 6])], [*table, whole("axis", 1)])
    # Attention of one query to rows of which a mask of 0 and 1 leaves some out.
    masked = [
        NODE("Gather", ["table", "ids"], ["e3"]), NODE("MatMul", ["e3", "q"], ["s3"]),
        NODE("Squeeze", ["s3", "last"], ["s"]), NODE("Cast", ["mask"], ["f"], to=1),
        NODE("Sub", ["one", "f"], ["left"]), NODE("Mul", ["left", "far"], ["added"]),
        NODE("Add", ["s", "added"], ["t"]), NODE("Softmax", ["t"], ["p"]), NODE("Unsqueeze", ["p", "last"], ["p3"]),
        NODE("Mul", ["e3", "p3"], ["e"]), mean, head,
    ]  # fmt: skip
    known = {"one": 1, "far": -10000}
    scalars = [numpy_helper.from_array(np.float32(value), name) for name, value in known.items()]
    inputs = [port("ids", TensorProto.INT64, ["n", 6]), port("mask", TensorProto.INT64, ["n", 6])]
    save("masked", masked, inputs, [*table, weight("q", 8, 1, scale=1.0), whole("last", 2), *scalars])
    # An index that the model computes leads out of the table.
    beyond = [NODE("Mul", ["ids", "many"], ["i"]), NODE("Gather", ["table", "i"], ["e"]), mean, head]
    save("beyond", beyond, [port("ids", TensorProto.INT64, ["n", 6])], [*table, whole("many", 1000)])
    nodes, weights = dense()
    beside = {"save_as_external_data": True, "location": "external.weights", "size_threshold": 0}
    save("external", nodes, numbers, weights, **beside)
    upper = [NODE("StringNormalizer", ["text"], ["y"], case_change_action="UPPER")]
    save("strings", upper, [port("text", TensorProto.STRING, ["n"])], [], (), TensorProto.STRING)
    nodes, weights = dense()
    nodes[1].output[0] = nodes[2].input[0] = "h"
    save("twice", nodes, numbers, weights)
    convolved = [
        NODE("Conv", ["x", "k"], ["a"], pads=[1] * 4), NODE("Relu", ["a"], ["b"]),
        NODE("GlobalAveragePool", ["b"], ["g"]), NODE("Flatten", ["g"], ["m"]), NODE("Gemm", ["m", "w", "d"], ["y"]),
    ]  # fmt: skip
    kernels = [weight("k", 8, 3, 3, 3, scale=0.3), weight("w", 8, 4), weight("d", 4)]
    # A slope for each channel, which the axes behind it say, and one that mx2onnx would write.
    for name, shape in (("sloped", (8, 1, 1)), ("slope", (8,))):
        nodes = [NODE("PRelu", ["a", "s"], ["b"]) if node.op_type == "Relu" else node for node in convolved]
        image = [port("x", TensorProto.FLOAT, ["n", 3, 14, 18])]
        save(name, nodes, image, [*kernels, weight("s", *shape, scale=0.2)])
    save("dynamic", convolved, [port("x", TensorProto.FLOAT, ["n", 3, "height", "width"])], kernels)
    save(
        "nothing", [NODE("Gemm", ["x", "w", "b"], ["y"])], [], [weight("x", 1, 16), weight("w", 16, 4), weight("b", 4)]
    )
    save("unranked", [NODE("Relu", ["x"], ["y"])], [port("x", TensorProto.FLOAT, None)], [], None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
