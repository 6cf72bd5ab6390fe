"""ONNX files with sequence lengths, branches and loops, and float16, written to the folder that is given."""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

RNG = np.random.default_rng(3)
NODE, PORT, GRAPH = helper.make_node, helper.make_tensor_value_info, helper.make_graph
FLOAT, HALF, WHOLE, BOOL = TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.INT64, TensorProto.BOOL


def weights(dtype="float32", **shapes):
    """Seeded tensors by name; arrays are taken as they are."""
    made = {k: v if isinstance(v, np.ndarray) else RNG.standard_normal(v).astype(dtype) for k, v in shapes.items()}
    return [numpy_helper.from_array(values, name) for name, values in made.items()]


def save(name, nodes, inputs, outputs, tensors):
    model = helper.make_model(
        GRAPH(nodes, name, inputs, outputs, tensors), opset_imports=[helper.make_opsetid("", 17)], ir_version=8
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, f"{name}.onnx")


def lengths():
    """A GRU in both directions over sequences that are shorter than their tensor."""
    nodes = [
        NODE("GRU", ["x", "w", "r", "b", "lengths"], ["", "last"], hidden_size=4, direction="bidirectional"),
        NODE("Transpose", ["last"], ["turned"], perm=[1, 0, 2]), NODE("Flatten", ["turned"], ["flat"]),
        NODE("Gemm", ["flat", "v", "c"], ["y"]),
    ]  # fmt: skip
    tensors = weights(w=(2, 12, 3), r=(2, 12, 4), b=(2, 24), v=(8, 3), c=(3,))
    inputs = [PORT("x", FLOAT, [9, 2, 3]), PORT("lengths", TensorProto.INT32, [2])]
    save("lengths", nodes, inputs, [PORT("y", FLOAT, [2, 3])], tensors)
    given = {"x": RNG.standard_normal((12, 9, 2, 3)).astype("float32")}
    np.savez("lengths.npz", lengths=RNG.integers(1, 10, (12, 2)).astype("int32"), **given)


def branches():
    """A weight that only a Loop's body reads, and branches that read a result which the node If does not name."""
    body = GRAPH(
        [NODE("MatMul", ["before", "w"], ["product"]), NODE("Tanh", ["product"], ["after"]),
         NODE("Identity", ["go"], ["still"])],
        "body", [PORT("i", WHOLE, []), PORT("go", BOOL, []), PORT("before", FLOAT, [2, 6])],
        [PORT("still", BOOL, []), PORT("after", FLOAT, [2, 6])],
    )  # fmt: skip
    one, other = (
        GRAPH([NODE("MatMul", ["mixed", w], [f"{w}y"])], f"with_{w}", [], [PORT(f"{w}y", FLOAT, [2, 4])]) for w in "uv"
    )
    nodes = [
        NODE("Loop", ["three", "true", "x"], ["looped"], body=body), NODE("MatMul", ["looped", "k"], ["mixed"]),
        NODE("ReduceMean", ["x"], ["mean"], keepdims=0), NODE("Greater", ["mean", "zero"], ["above"]),
        NODE("If", ["above"], ["y"], then_branch=one, else_branch=other),
    ]  # fmt: skip
    constants = {"three": np.array(3), "true": np.array(True), "zero": np.zeros((), "float32")}
    tensors = weights(w=(6, 6), u=(6, 4), v=(6, 4), k=(6, 6), **constants)
    save("branches", nodes, [PORT("x", FLOAT, [2, 6])], [PORT("y", FLOAT, [2, 4])], tensors)


def half():
    """Layers that compute in float16, of an opset whose DequantizeLinear knows no such scales."""
    nodes = [
        NODE("Gemm", ["x", "w", "b"], ["h"]), NODE("Flatten", ["h"], ["f"]),
        NODE("LayerNormalization", ["f", "s"], ["n"]), NODE("Gemm", ["n", "v", "c"], ["y"]),
    ]  # fmt: skip
    tensors = weights("float16", w=(8, 16), b=(16,), s=(16,), v=(16, 4), c=(4,))
    save("half", nodes, [PORT("x", HALF, ["n", 8])], [PORT("y", HALF, ["n", 4])], tensors)


def masked():
    """Attention whose mask is -inf above the diagonal; the nodes have no names."""
    nodes = [
        NODE("MatMul", ["x", "w"], ["q"]), NODE("Transpose", ["x"], ["k"], perm=[0, 2, 1]),
        NODE("MatMul", ["q", "k"], ["s"]), NODE("Add", ["s", "mask"], ["m"]), NODE("Softmax", ["m"], ["a"]),
        NODE("MatMul", ["a", "x"], ["o"]), NODE("MatMul", ["o", "v"], ["y"]),
    ]  # fmt: skip
    mask = np.triu(np.full((5, 5), -np.inf, "float32"), 1)
    tensors = weights(w=(8, 8), v=(8, 4), mask=mask)
    save("masked", nodes, [PORT("x", FLOAT, [1, 5, 8])], [PORT("y", FLOAT, [1, 5, 4])], tensors)


def planes():
    """A LayerNormalization over planes, whose bias ONNX Runtime's quantiser takes for a vector."""
    nodes = [
        NODE("Conv", ["x", "w", "b"], ["h"], pads=[1, 1, 1, 1]),
        NODE("LayerNormalization", ["h", "s", "t"], ["n"], axis=1),
        NODE("ReduceMean", ["n"], ["f"], axes=[2, 3], keepdims=0), NODE("Gemm", ["f", "v", "c"], ["y"]),
    ]  # fmt: skip
    tensors = weights(w=(4, 2, 3, 3), b=(4,), s=(4, 5, 5), t=(4, 5, 5), v=(4, 3), c=(3,))
    save("planes", nodes, [PORT("x", FLOAT, [1, 2, 5, 5])], [PORT("y", FLOAT, [1, 3])], tensors)


def upsampled():
    """A ConvTranspose of two groups with a bias."""
    nodes = [
        NODE("ConvTranspose", ["x", "w", "b"], ["h"], group=2, strides=[2, 2]), NODE("Relu", ["h"], ["r"]),
        NODE("ReduceMean", ["r"], ["f"], axes=[3], keepdims=0), NODE("Flatten", ["f"], ["y"]),
    ]  # fmt: skip
    tensors = weights(w=(4, 2, 2, 2), b=(4,))
    save("upsampled", nodes, [PORT("x", FLOAT, [1, 4, 3, 3])], [PORT("y", FLOAT, [1, 24])], tensors)


def beside():
    """Weights in a file of their own."""
    nodes = [NODE("Gemm", ["x", "w", "b"], ["h"]), NODE("Tanh", ["h"], ["t"]), NODE("MatMul", ["t", "v"], ["y"])]
    tensors = weights(w=(8, 40), b=(40,), v=(40, 5))
    save("beside", nodes, [PORT("x", FLOAT, ["n", 8])], [PORT("y", FLOAT, ["n", 5])], tensors)
    onnx.save(
        onnx.load("beside.onnx"), "beside.onnx", save_as_external_data=True, location="beside.bin", size_threshold=0
    )


def quantised():
    """A layer whose input, weights and output are rounded already."""
    nodes = [
        NODE("QuantizeLinear", ["x", "s", "z"], ["a"]), NODE("DequantizeLinear", ["a", "s", "z"], ["b"]),
        NODE("DequantizeLinear", ["w", "u", "o"], ["v"], axis=1), NODE("MatMul", ["b", "v"], ["h"]),
        NODE("QuantizeLinear", ["h", "t", "z"], ["c"]), NODE("DequantizeLinear", ["c", "t", "z"], ["y"]),
    ]  # fmt: skip
    steps = {"s": np.array(0.03, "float32"), "t": np.array(0.2, "float32"), "z": np.array(128, "uint8")}
    steps |= {"u": RNG.uniform(0.01, 0.03, 4).astype("float32"), "o": np.zeros(4, "int8")}
    tensors = weights(w=RNG.integers(-127, 128, (8, 4)).astype("int8"), **steps)
    save("quantised", nodes, [PORT("x", FLOAT, [2, 8])], [PORT("y", FLOAT, [2, 4])], tensors)


def turns():
    """A Loop that gives a matrix at every turn."""
    body = GRAPH(
        [NODE("MatMul", ["before", "w"], ["product"]), NODE("Tanh", ["product"], ["after"]),
         NODE("Mul", ["after", "x"], ["given"]), NODE("Identity", ["go"], ["still"])],
        "body", [PORT("i", WHOLE, []), PORT("go", BOOL, []), PORT("before", FLOAT, [2, 6])],
        [PORT("still", BOOL, []), PORT("after", FLOAT, [2, 6]), PORT("given", FLOAT, [2, 6])],
    )  # fmt: skip
    nodes = [
        NODE("Loop", ["three", "true", "x"], ["last", "all"], body=body), NODE("MatMul", ["all", "k"], ["mixed"]),
        NODE("Transpose", ["mixed"], ["y"], perm=[1, 0, 2]),
    ]  # fmt: skip
    tensors = weights(w=(6, 6), k=(6, 4), three=np.array(3), true=np.array(True))
    save("turns", nodes, [PORT("x", FLOAT, [2, 6])], [PORT("y", FLOAT, [2, 3, 4])], tensors)


def bare():
    """Nothing that a quantiser takes."""
    nodes = [NODE("Tanh", ["x"], ["t"]), NODE("Sin", ["t"], ["y"])]
    save("bare", nodes, [PORT("x", FLOAT, ["n", 8])], [PORT("y", FLOAT, ["n", 8])], [])


if __name__ == "__main__":
    os.chdir(sys.argv[1])
    for make in (lengths, branches, half, masked, planes, upsampled, beside, quantised, turns, bare):
        make()
