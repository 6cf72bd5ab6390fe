"""The layers of models in float64, side by side in one file: assembled from what was read back, and mutated.

A layer of a quantised model takes the integers of its inputs and gives its result before rounding, in steps and
clamped; one of a model in floating point takes and gives real values.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.adapters.onnx_tools import onnx_evaluator, onnx_float64, onnx_operators
from bench_plugin.adapters.onnx_tools.shared import onnx_names
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import AssembleCall, MutateLayersCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "onnx_layers",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Layers of models",
    "distribution": "onnx",
    "operations": ["assemble", "mutate_layers"],
    "uses": ["onnx_evaluator", "onnx_float64", "onnx_names", "onnx_operators"],
    "errors": [{"package": "onnx"}],
}

DOUBLE = 11
OPSET = 17
IR = 8
CONTRACTIONS = ("Conv", "ConvTranspose", "Gemm", "MatMul", "ConvInteger", "MatMulInteger")
NORMS = {"BatchNormalization": "batchnorm"} | dict.fromkeys(
    ("LayerNormalization", "InstanceNormalization", "GroupNormalization", "RMSNormalization"), "layernorm"
)
SMALL, EPSILONS = (
    5e-4,
    ("1e-3", "1e-5"),
)  # an epsilon below the first is set to the first of these, others to the second
GIVEN = "_given"  # behind the name of an input that is a result of another layer
BRANCHING = {"Concat": "parallel branch zeroed"} | dict.fromkeys(("Add", "Sub", "Sum", "Mul"), "residual branch zeroed")
BRANCHES = 400
MEASURES = ("Shape", "Size")  # they read no values
MUTATED = 6  # contractions, and norms, that are mutated, spread over the model


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def assemble(self, call: AssembleCall) -> Reply:
        """``unrounded.onnx``: the nodes as they were read back, with the given tensors as inputs."""
        call.stage("build")
        onnx = importlib.import_module("onnx")
        helper = onnx.helper
        needed = set(call.results)
        nodes: list[Any] = []
        for row in reversed(call.nodes):
            if needed.intersection(row["outputs"]):
                needed.update(row["inputs"])
                attributes = row.get("attributes", {})
                nodes.insert(0, helper.make_node(row["operator"], row["inputs"], row["outputs"], **attributes))
        graph = helper.make_graph(
            nodes,
            "layers",
            [helper.make_tensor_value_info(name, DOUBLE, None) for name in call.given if name in needed],
            [helper.make_tensor_value_info(name, DOUBLE, None) for name in call.results],
            [onnx.numpy_helper.from_array(values, name) for name, values in call.fixed.items() if name in needed],
        )
        path = call.path("unrounded.onnx")
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR), path)
        return Reply({"layers": list(call.results)}, files={"unrounded.onnx": path})

    def mutate_layers(self, call: MutateLayersCall) -> Reply:
        """Results ``<mutant>:out0`` ... of mutants of some contractions and norms, each with its output's number.

        With ``branches`` also those without one branch of a sum or of a Concat, and without one input. Raises
        Unsupported where there are more than BRANCHES of them.
        """
        call.stage("reference")
        onnx = importlib.import_module("onnx")
        model = onnx_float64.promoted(onnx, onnx.load(call.files["unrounded.onnx"]), narrow=True)
        numbers = {value.name: index for index, value in enumerate(model.graph.output)}
        given = {name: values[: call.samples] for name, values in call.inputs.items()}
        arrays = {}
        branches = _branches(onnx, model) if call.branches else ()
        for name, place, changed, result in (*_mutants(onnx, model), *_epsilons(onnx, model), *branches):
            values = _evaluated(onnx, changed, given)
            if values is not None:
                arrays[f"{name} at {place}:out{numbers[result]}"] = values
        return Reply({"samples": call.samples}, samples.blobs(arrays))


def _mutants(onnx: Any, model: Any) -> Iterator[tuple[str, str, Any, str]]:
    """Name, place, mutated copy of the part that the result needs, and the first result that the node reaches."""
    graph = model.graph
    fixed = _fixed(graph)
    places = [
        index
        for index, node in enumerate(graph.node)
        if node.op_type in CONTRACTIONS and node.input[1] in fixed and node.input[0] not in fixed
    ]
    for index in _spread(places):
        node = graph.node[index]
        result = _reached(graph, index)
        channels = _channels(node, fixed[node.input[1]])
        if result is None or channels is None:
            continue
        bias = _bias(graph, index, fixed)
        part, places_of_part = _part(onnx, model, result)
        bias = (places_of_part[bias[0]], bias[1]) if bias is not None and bias[0] in places_of_part else None
        for name, wanted in (
            ("weights x1.01", True), ("channel x1.02", True), ("channels swapped", channels[1] > 1),
            ("bias dropped", bias is not None), ("result one step on", True),
        ):  # fmt: skip
            if wanted:
                changed = onnx.ModelProto()
                changed.CopyFrom(part)
                _change(onnx, changed.graph, name, places_of_part[index], channels, bias, fixed, result)
                yield name, node.name or node.output[0], changed, result


def _epsilons(onnx: Any, model: Any) -> Iterator[tuple[str, str, Any, str]]:
    """The same of the norms: another epsilon, 1e-3 in place of a smaller one, and 1e-5 in place of that."""
    for index in _spread([index for index, node in enumerate(model.graph.node) if node.op_type in NORMS]):
        node = model.graph.node[index]
        result = _reached(model.graph, index)
        if result is None:
            continue
        own = next((one.f for one in node.attribute if one.name == "epsilon"), 1e-5)
        other = EPSILONS[own >= SMALL]
        changed, places = _part(onnx, model, result)
        mutated = changed.graph.node[places[index]]
        kept = [one for one in mutated.attribute if one.name != "epsilon"]
        del mutated.attribute[:]
        mutated.attribute.extend([*kept, onnx.helper.make_attribute("epsilon", float(other))])
        yield f"{NORMS[node.op_type]} eps {other}", node.name or node.output[0], changed, result


def _branches(onnx: Any, model: Any) -> Iterator[tuple[str, str, Any, str]]:
    """The same without one branch of a sum or of a Concat, or without one input: zeros are read in its place."""
    graph, types = model.graph, onnx_names.types_of(onnx, model)
    varying = {value.name for value in graph.input}
    places: list[tuple[str, str, int, int]] = []
    for index, node in enumerate(graph.node):
        read = [place for place, name in enumerate(node.input) if name in varying]
        if read:
            varying.update(node.output)
        shapes = any(types.get(node.input[place], DOUBLE) != DOUBLE for place in read)
        if node.op_type in BRANCHING and len(read) > 1 and not shapes:
            places += [(BRANCHING[node.op_type], node.name or node.output[0], index, place) for place in read]
    for value in graph.input:
        if not value.name.endswith(GIVEN):
            places += [
                ("input ignored", value.name, index, list(node.input).index(value.name))
                for index, node in enumerate(graph.node)
                if value.name in node.input and node.op_type not in MEASURES
            ]  # fmt: skip
    if len(places) > BRANCHES:
        raise Unsupported(f"{len(places)} branches, which are more than {BRANCHES}")
    for name, site, index, place in places:
        result = _reached(graph, index)
        if result is None:
            continue
        changed, inside = _part(onnx, model, result)
        node = changed.graph.node[inside[index]]
        zeroed = onnx.helper.make_node("Sub", [node.input[place]] * 2, [f"{node.input[place]}_zeroed"])
        node.input[place] = zeroed.output[0]
        changed.graph.node.insert(inside[index], zeroed)
        yield name, f"{site}, input {place + 1}", changed, result


def _spread(places: Sequence[int]) -> Sequence[int]:
    """Up to ``MUTATED`` of the places, spread over all of them."""
    return places[:: max(1, len(places) // MUTATED)][:MUTATED]


def _change(
    onnx: Any, graph: Any, name: str, index: int, channels: tuple[int, int], bias: tuple[int, int] | None,
    fixed: Mapping[str, Any], result: str,
) -> None:  # fmt: skip
    numpy = importlib.import_module("numpy")
    node = graph.node[index]
    axis, count = channels

    def replaced(place: int, slot: int, values: Any) -> None:
        made = f"mutant_{place}_{slot}"
        graph.initializer.append(onnx.numpy_helper.from_array(numpy.ascontiguousarray(values), made))
        graph.node[place].input[slot] = made

    weights = fixed[node.input[1]]

    def of_their_type(values: Any) -> Any:
        if weights.dtype.kind == "f":
            return values
        ends = numpy.iinfo(weights.dtype)
        return numpy.clip(numpy.rint(values), ends.min, ends.max).astype(weights.dtype)

    if name == "weights x1.01":
        replaced(index, 1, of_their_type(weights * 1.01))
    elif name == "channel x1.02":
        factors = numpy.ones(count)
        factors[count // 2] = 1.02
        along = [-1 if place == axis else 1 for place in range(weights.ndim)]
        replaced(index, 1, of_their_type(weights * factors.reshape(along)))
    elif name == "channels swapped":
        order = numpy.arange(count)
        order[[0, count // 2]] = order[[count // 2, 0]]
        replaced(index, 1, numpy.take(weights, order, axis))
        if bias is not None:
            values = fixed[graph.node[bias[0]].input[bias[1]]]
            if values.shape[-1:] == (count,) and values.size == count:
                replaced(*bias, numpy.take(values, order, values.ndim - 1))
    elif name == "bias dropped" and bias is not None:
        replaced(*bias, fixed[graph.node[bias[0]].input[bias[1]]] * 0)
    elif name == "result one step on":
        maker = next(one for one in graph.node if result in one.output)
        maker.output[list(maker.output).index(result)] = "mutant_result"
        graph.initializer.append(onnx.numpy_helper.from_array(numpy.float64(1.0), "mutant_step"))
        graph.node.append(onnx.helper.make_node("Add", ["mutant_result", "mutant_step"], [result]))


def _fixed(graph: Any) -> dict[str, Any]:
    """The values of everything that no input decides: constants, and what dequantises or reshapes them."""
    onnx = importlib.import_module("onnx")
    numpy = importlib.import_module("numpy")
    known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    for node in graph.node:
        reads = [name for name in node.input if name]
        if node.op_type == "DequantizeLinear" and all(name in known for name in reads):
            values = known[reads[0]].astype("float64")
            axis = next((one.i for one in node.attribute if one.name == "axis"), 1)
            scale, zero = known[reads[1]].astype("float64"), known[reads[2]] if len(reads) > 2 else numpy.zeros(())
            block = next((one.i for one in node.attribute if one.name == "block_size"), 0)
            if block:
                scale, zero = (numpy.repeat(x, block, axis) if x.ndim else x for x in (scale, zero))
            elif scale.size > 1:
                shape = [-1 if place == axis % values.ndim else 1 for place in range(values.ndim)]
                scale = scale.reshape(shape)
                zero = zero.reshape(shape) if zero.size > 1 else zero
            known[node.output[0]] = (values - zero.astype("float64")) * scale
        elif node.op_type == "Reshape" and all(name in known for name in reads) and (known[reads[1]] != 0).all():
            known[node.output[0]] = known[reads[0]].reshape(known[reads[1]])
        elif node.op_type == "Transpose" and reads[0] in known:
            order = next((list(one.ints) for one in node.attribute if one.name == "perm"), None)
            known[node.output[0]] = numpy.transpose(known[reads[0]], order)
    return known


def _channels(node: Any, weights: Any) -> tuple[int, int] | None:
    """The axis of the weights that counts the output's channels, and their number."""
    if weights.ndim < 2:
        return None
    transposed = any(one.name == "transB" and one.i for one in node.attribute)
    if node.op_type in ("Conv", "ConvInteger") or transposed:
        return 0, int(weights.shape[0])
    axis = 1 if node.op_type == "ConvTranspose" else weights.ndim - 1
    return axis, int(weights.shape[axis])


def _bias(graph: Any, index: int, fixed: Mapping[str, Any]) -> tuple[int, int] | None:
    """Where the bias of a contraction is read: its third input, or the constant of an addition behind it.

    A contraction of integers has its zero point as the third one, and its scale in front of that addition.
    """
    node = graph.node[index]
    integers = node.op_type.endswith("Integer")
    if len(node.input) > 2 and node.input[2] in fixed and not integers:
        return index, 2
    result = node.output[0]
    for place, user in enumerate(graph.node):
        if integers and user.op_type in ("Cast", "Mul") and result in user.input:
            result = user.output[0]
        if user.op_type == "Add" and result in user.input:
            slot = 1 - list(user.input).index(result)
            if user.input[slot] in fixed:
                return place, slot
    return None


def _reached(graph: Any, index: int) -> str | None:
    """The first result that depends on a node."""
    reached = set(graph.node[index].output)
    for node in graph.node[index + 1 :]:
        if reached.intersection(node.input):
            reached.update(node.output)
    return next((value.name for value in graph.output if value.name in reached), None)


def _part(onnx: Any, model: Any, result: str) -> tuple[Any, dict[int, int]]:
    """The part of a model that one result needs, and the places of its nodes: by that in the model that in the part."""
    graph, needed = model.graph, {result}
    kept: list[int] = []
    for index in reversed(range(len(graph.node))):
        if needed.intersection(graph.node[index].output):
            needed.update(graph.node[index].input)
            kept.append(index)
    kept.reverse()
    part = onnx.helper.make_graph(
        [graph.node[index] for index in kept], "mutant", [one for one in graph.input if one.name in needed],
        [one for one in graph.output if one.name == result], [one for one in graph.initializer if one.name in needed],
    )  # fmt: skip
    whole = onnx.helper.make_model(part, opset_imports=list(model.opset_import), ir_version=model.ir_version)
    return whole, {index: place for place, index in enumerate(kept)}


def _evaluated(onnx: Any, model: Any, given: Mapping[str, Any]) -> Any:
    """The only result [n, ...] of a part of a graph; None where an input of it is not given."""
    numpy = importlib.import_module("numpy")
    evaluator = onnx_evaluator.evaluator(model, onnx_operators.fast_operators(onnx))
    own = {name: values for name, values in given.items() if name in evaluator.input_names}
    if set(own) != set(evaluator.input_names):
        return None
    own = {name: onnx_float64.doubled(x) for name, x in own.items()}
    count = len(next(iter(own.values())))
    rows: Sequence[Any] = [evaluator.run(None, {name: x[i] for name, x in own.items()})[0] for i in range(count)]
    return numpy.stack(rows)
