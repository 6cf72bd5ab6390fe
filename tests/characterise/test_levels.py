"""Layers, stacks and blocks of small graphs, and their figures, against what a person counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bench_plugin.characterise.facts import Facts
from bench_plugin.characterise.levels import figures, signature, stacks
from bench_plugin.characterise.levels.partition import units
from bench_plugin.checks.layers.pieces import pieces

Row = dict[str, Any]


def made(nodes: Sequence[Row], tensors: dict[str, Any], outputs: Sequence[str]) -> Facts:
    """Facts of nodes with ``inputs`` and ``outputs``; a tensor's shape is a list, a constant's a tuple."""
    rows: list[Row] = [
        {"domain": "ai.onnx", "within": "", "attributes": {}, "name": row["outputs"][0], **row} for row in nodes
    ]
    described = {
        name: {"dtype": "float", "shape": list(shape), **({"weight": True} if isinstance(shape, tuple) else {})}
        for name, shape in tensors.items()
    }
    return Facts.read({"inputs": ["x"], "outputs": list(outputs), "nodes": rows, "tensors": described})


def node(operator: str, inputs: Sequence[str], output: str, **more: Any) -> Row:
    return {"operator": operator, "inputs": list(inputs), "outputs": [output], **more}


def residual(blocks: int = 2) -> Facts:
    """Blocks of conv + batch norm + relu, conv, and a sum with the block's input that a relu follows."""
    image = [1, 8, 4, 4]
    nodes: list[Row] = []
    tensors: dict[str, Any] = {"x": image, "norm": (8,)}
    given = "x"
    for number in range(blocks):
        kernel, back = f"layer.{number}.conv1.weight", f"layer.{number}.conv2.weight"
        tensors |= {kernel: (8, 8, 3, 3), back: (8, 8, 3, 3)}
        a, b, c, d, e, f = (f"{letter}{number}" for letter in "abcdef")
        tensors |= dict.fromkeys((a, b, c, d, e, f), image)
        path = f"/layer/layer.{number}"
        nodes += [
            node("Conv", [given, kernel], a, name=f"{path}/conv1/Conv", attributes={"pads": [1, 1, 1, 1]}),
            node("BatchNormalization", [a, "norm", "norm", "norm", "norm"], b, name=f"{path}/bn1/BatchNormalization"),
            node("Relu", [b], c, name=f"{path}/relu/Relu"),
            node("Conv", [c, back], d, name=f"{path}/conv2/Conv", attributes={"pads": [1, 1, 1, 1]}),
            node("Add", [d, given], e, name=f"{path}/Add"),
            node("Relu", [e], f, name=f"{path}/relu_1/Relu"),
        ]
        given = f
    return made(nodes, tensors, [given])


def test_a_convolution_takes_its_normalisation_and_activation_with_it() -> None:
    found = units(residual(1))
    assert [unit.operators for unit in found] == [("Conv", "BatchNormalization", "Relu"), ("Conv",), ("Add", "Relu")]
    assert [unit.inputs for unit in found] == [("x",), ("c0",), ("d0", "x")]
    assert [unit.outputs for unit in found] == [("c0",), ("d0",), ("f0",)]
    assert not any(unit.why_not for unit in found)


def test_every_node_is_in_exactly_one_layer() -> None:
    facts = residual(3)
    names = [one.name for unit in units(facts) for one in unit.nodes]
    assert sorted(names) == sorted(one.name for one in facts.nodes)


def test_what_another_node_reads_too_is_not_joined() -> None:
    """The relu could not be computed in the convolution's kernel: the sum needs what is before it."""
    shape = [1, 4, 4, 4]
    facts = made(
        [node("Conv", ["x", "w"], "a"), node("Relu", ["a"], "b"), node("Add", ["a", "b"], "y")],
        {"x": shape, "a": shape, "b": shape, "y": shape, "w": (4, 4, 1, 1)}, ["y"],
    )  # fmt: skip
    assert [unit.operators for unit in units(facts)] == [("Conv",), ("Relu",), ("Add",)]


def test_an_output_of_the_model_is_not_hidden_in_a_layer() -> None:
    shape = [1, 4, 4, 4]
    facts = made(
        [node("Conv", ["x", "w"], "a"), node("Relu", ["a"], "y")],
        {"x": shape, "a": shape, "y": shape, "w": (4, 4, 1, 1)}, ["a", "y"],
    )  # fmt: skip
    assert [unit.outputs for unit in units(facts)] == [("a",), ("y",)]


def test_what_follows_from_shapes_or_constants_is_carried_and_is_no_layer() -> None:
    facts = made(
        [
            node("Shape", ["x"], "s"), node("Gather", ["s", "zero"], "n"), node("Transpose", ["w"], "wt"),
            node("Reshape", ["x", "n"], "flat"), node("MatMul", ["flat", "wt"], "y"),
        ],
        {"x": [1, 8], "s": [2], "n": [1], "flat": [8], "y": [4], "w": (4, 8), "wt": [8, 4], "zero": (1,)}, ["y"],
    )  # fmt: skip
    first, second = units(facts)
    assert first.operators == ("Reshape",) and [one.operator for one in first.carried] == ["Shape", "Gather"]
    assert second.operators == ("MatMul",) and [one.operator for one in second.carried] == ["Transpose"]
    assert first.inputs == ("x",) and second.inputs == ("flat",)


def test_dequantisations_belong_to_the_layer_that_reads_them() -> None:
    facts = made(
        [
            node("QuantizeLinear", ["x", "scale"], "xq"), node("DequantizeLinear", ["xq", "scale"], "xd"),
            node("Conv", ["xd", "w"], "a"), node("Relu", ["a"], "b"), node("QuantizeLinear", ["b", "scale"], "yq"),
            node("DequantizeLinear", ["yq", "scale"], "y"), node("Sigmoid", ["y"], "z"),
        ],
        {name: [1, 4, 4, 4] for name in ("x", "xq", "xd", "a", "b", "yq", "y", "z")} | {"w": (4, 4, 1, 1), "scale": ()},
        ["z"],
    )  # fmt: skip
    found = units(facts)
    assert [unit.operators for unit in found] == [("QuantizeLinear",), ("Conv", "Relu", "QuantizeLinear"), ("Sigmoid",)]
    assert found[1].inputs == ("xq",) and [one.operator for one in found[1].carried] == ["DequantizeLinear"]


def test_a_tensor_without_a_known_shape_keeps_its_layer_from_being_a_file() -> None:
    facts = made(
        [node("NonZero", ["x"], "a"), node("Cast", ["a"], "y")], {"x": [1, 8], "a": [2, 4], "y": [2, 4]}, ["y"]
    )
    unknown = Facts(facts.inputs, facts.outputs, facts.nodes, {**facts.tensors, "a": Facts.read({
        "inputs": [], "outputs": [], "nodes": [], "tensors": {"a": {"dtype": "float", "shape": [2, None]}},
    }).tensors["a"]})  # fmt: skip
    assert [unit.why_not for unit in units(facts)] == ["", ""]
    assert ["shape of a" in unit.why_not for unit in units(unknown)] == [True, True]


def test_layers_of_the_same_work_have_one_identity_whatever_their_weights_are_called() -> None:
    facts = residual(2)
    found = units(facts)
    same = [signature.identity(unit, facts) for unit in found]
    assert same[0] == same[3] and same[1] == same[4] and same[2] == same[5]
    assert len(set(same)) == 3
    assert signature.text(found[0], facts) == (
        "Conv+BatchNormalization+Relu 1x8x4x4 -> 1x8x4x4 kernel 3x3 pads 1"
    )  # fmt: skip
    assert signature.kind(found[0], facts) == "Conv 3x3" and signature.kind(found[2], facts) == "Add"


@pytest.mark.parametrize("attribute", [{"strides": [2, 2]}, {"group": 8}, {"dilations": [2, 2]}])
def test_strides_groups_and_dilations_tell_layers_apart(attribute: Row) -> None:
    shape = [1, 8, 4, 4]
    both = [
        made([node("Conv", ["x", "w"], "y", attributes=more)], {"x": shape, "y": shape, "w": (8, 8, 3, 3)}, ["y"])
        for more in ({}, attribute)
    ]
    one, other = (signature.identity(units(facts)[0], facts) for facts in both)
    assert one != other


def test_depthwise_convolutions_are_a_kind_of_their_own() -> None:
    shape = [1, 8, 4, 4]
    facts = made(
        [node("Conv", ["x", "w"], "y", attributes={"group": 8})], {"x": shape, "y": shape, "w": (8, 1, 3, 3)}, ["y"]
    )
    assert signature.kind(units(facts)[0], facts) == "Conv 3x3 depthwise"


def test_stacks_follow_chains_and_do_not_overlap() -> None:
    facts = residual(2)
    every = units(facts)
    assert [[unit.operators[0] for unit in chain] for chain in stacks.chains(every, facts)] == [
        ["Conv", "Conv", "Add"], ["Conv", "Conv", "Add"],
    ]  # fmt: skip
    found = stacks.stacks(every, facts)
    assert [(stack.kind, len(stack.units)) for stack in found] == [("stack of 2", 2), ("stack of 2", 2)]
    assert stacks.outputs(found[0], facts, every) == ("d0",)


def test_named_blocks_are_the_innermost_modules_with_several_layers() -> None:
    facts = residual(3)
    every = units(facts)
    assert [block.name for block in stacks.blocks(every)] == ["layer.0", "layer.1", "layer.2"]
    assert stacks.outputs(stacks.blocks(every)[1], facts, every) == ("f1",)


def test_a_module_that_is_most_of_the_model_is_no_block() -> None:
    assert stacks.blocks(units(residual(1))) == []


def test_excess_is_taken_within_launches() -> None:
    """A second launch that is slower as a whole changes nothing: the stack and its layers are slower alike."""
    found = figures.ratio([0.9, 1.8, 2.7], [[0.5, 1.0, 1.5], [0.5, 1.0, 1.5]])
    assert found["median"] == pytest.approx(0.9) and found["low"] == pytest.approx(0.9) == found["high"]
    noisy = figures.ratio([1.0, 5.0], [[1.0, 1.0]])
    assert 0 < noisy["low"] < noisy["median"] < noisy["high"], "a ratio has no negative bound"
    assert figures.ratio([1.0], []) == {} and figures.ratio([1.0, 1.0], [[1.0]]) == {}


def test_the_sum_counts_every_occurrence_and_says_what_is_missing() -> None:
    rows = [
        {"occurrences": 3, "launch_medians": [1.0, 2.0]}, {"occurrences": 1, "launch_medians": [4.0, 4.0]},
        {"occurrences": 2},
    ]  # fmt: skip
    found = figures.sum_of_layers(rows, [7.0, 5.0])
    assert found["layers"] == 8.5 and found["model"] == 6.0
    assert found["missing"] == 2 and found["lower_bound"] is True
    assert found["ratio"]["median"] == pytest.approx((1.0 + 2.0) / 2)


def test_kinds_have_mean_spread_and_share_of_the_time() -> None:
    rows = [
        {"kind": "Conv 3x3", "occurrences": 2, "median": 1.0, "ops_per_s": 10.0},
        {"kind": "Conv 3x3", "occurrences": 1, "median": 3.0, "ops_per_s": 20.0},
        {"kind": "Add", "occurrences": 5, "median": 1.0},
        {"kind": "Gemm", "occurrences": 1},
    ]  # fmt: skip
    first, second = figures.by_kind(rows)
    assert {first["kind"], second["kind"]} == {"Conv 3x3", "Add"}
    conv = next(row for row in (first, second) if row["kind"] == "Conv 3x3")
    assert (conv["distinct"], conv["occurrences"], conv["seconds"], conv["share"]) == (2, 3, 5.0, 0.5)
    assert conv["latency_mean"] == 2.0 and conv["latency_sd"] == pytest.approx(2**0.5)
    assert conv["ops_per_s_mean"] == 15.0
    assert "ops_per_s_mean" not in next(row for row in (first, second) if row["kind"] == "Add")


def resnet50() -> Facts:
    """torchvision's ResNet50 (version 1.5: the stride is in the 3 x 3 convolution), batch norms folded as exported."""
    nodes: list[Row] = []
    tensors: dict[str, Any] = {"x": [1, 3, 224, 224]}

    def conv(given: str, name: str, out: int, kernel: int, stride: int = 1, *, active: bool = True) -> str:
        _, channels, size, _ = tensors[given]
        tensors[f"{name}.weight"], size = (out, channels, kernel, kernel), size // stride
        tensors[f"{name}.out"] = tensors[f"{name}.relu"] = [1, out, size, size]
        said = {"strides": [stride] * 2, "pads": [kernel // 2] * 4, "kernel_shape": [kernel] * 2}
        path = "/" + name.replace(".", "/")
        nodes.append(node("Conv", [given, f"{name}.weight"], f"{name}.out", name=f"{path}/Conv", attributes=said))
        if active:
            nodes.append(node("Relu", [f"{name}.out"], f"{name}.relu", name=f"{path}/Relu"))
        return f"{name}.relu" if active else f"{name}.out"

    at = conv("x", "conv1", 64, 7, 2)
    tensors["pool"] = [1, 64, 56, 56]
    nodes.append(node("MaxPool", [at], "pool", attributes={"kernel_shape": [3, 3], "strides": [2, 2]}))
    at = "pool"
    for stage, (count, width) in enumerate(((3, 64), (4, 128), (6, 256), (3, 512)), 1):
        for block in range(count):
            name, stride = f"layer{stage}.{block}", 2 if stage > 1 and block == 0 else 1
            one = conv(at, f"{name}.conv1", width, 1)
            two = conv(one, f"{name}.conv2", width, 3, stride)
            three = conv(two, f"{name}.conv3", 4 * width, 1, active=False)
            beside = conv(at, f"{name}.downsample", 4 * width, 1, stride, active=False) if block == 0 else at
            tensors[f"{name}.sum"] = tensors[f"{name}.end"] = tensors[three]
            path = "/" + name.replace(".", "/")
            nodes.append(node("Add", [three, beside], f"{name}.sum", name=f"{path}/Add"))
            nodes.append(node("Relu", [f"{name}.sum"], f"{name}.end", name=f"{path}/relu_2/Relu"))
            at = f"{name}.end"
    tensors |= {
        "gap": [1, 2048, 1, 1],
        "flat": [1, 2048],
        "y": [1, 1000],
        "fc.weight": (1000, 2048),
        "fc.bias": (1000,),
    }
    nodes += [
        node("GlobalAveragePool", [at], "gap"), node("Flatten", ["gap"], "flat"),
        node("Gemm", ["flat", "fc.weight", "fc.bias"], "y", attributes={"transB": 1}),
    ]  # fmt: skip
    return made(nodes, tensors, ["y"])


def test_resnet50_has_53_convolutions_of_which_23_are_distinct() -> None:
    found = [piece for piece in pieces(resnet50()) if piece.group == "layer"]
    convolutions = [piece for piece in found if piece.operators[0] == "Conv"]
    assert len(convolutions) == 23 and sum(len(piece.occurrences) for piece in convolutions) == 53
    # the published operations of two of them, in MOP (QuTiBench, tables A.1 and A.2: res2a_branch2b and res2a_branch2c)
    by_text = {piece.signature: piece.operations / 1e6 for piece in convolutions}
    assert by_text["Conv+Relu 1x64x56x56 -> 1x64x56x56 kernel 3x3 pads 1"] == pytest.approx(231.2, rel=1e-3)
    assert by_text["Conv 1x64x56x56 -> 1x256x56x56 kernel 1x1"] == pytest.approx(102.8, rel=1e-3)


def test_blocks_and_stacks_of_resnet50_are_its_bottlenecks() -> None:
    found = pieces(resnet50())
    blocks = [piece for piece in found if piece.group == "block"]
    assert sum(len(piece.occurrences) for piece in blocks) == 16 and len(blocks) == 8
    four = [piece for piece in found if piece.group == "stack of 4"]
    assert sum(len(piece.occurrences) for piece in four) == 16
    layers = [piece for piece in found if piece.group == "layer"]
    first = four[0]
    assert first.operations == sum(layers[place].operations for place in first.layers)


def test_a_block_that_is_a_stack_of_the_same_layers_is_measured_once() -> None:
    found = pieces(resnet50())
    twins = [piece for piece in found if piece.twin is not None]
    assert len(twins) == 4 and {piece.group for piece in twins} == {"block"}, "those without a downsampling branch"
    assert all(found[piece.twin or 0].layers == piece.layers for piece in twins)
