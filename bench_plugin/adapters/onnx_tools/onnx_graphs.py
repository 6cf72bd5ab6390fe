"""Pre-quantised and pre-converted models: QDQ, few bits, dynamically quantised, float16."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Sequence
from typing import Any

from bench_plugin.adapters.characterise.few_bits import low_bits, low_bits_graphs, qonnx_files
from bench_plugin.adapters.onnx_tools.separated import onnx_separated, onnx_summands, onnx_taken, onnx_unrounded
from bench_plugin.adapters.onnx_tools.shared import onnx_bounded, onnx_names, onnx_sizes, onnx_sizing, onnx_tied
from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import QDQ, LayersCall, PrepareCall
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "onnx_graphs",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "ONNX Runtime quantisation",
    "distribution": "onnxruntime",
    "operations": ["prepare", "layers"],
    "uses": [
        "onnx_bounded", "onnx_names", "onnx_separated", "onnx_sizes", "onnx_summands", "onnx_taken", "onnx_unrounded",
        "onnx_sizing", "onnx_tied", "low_bits", "low_bits_graphs", "qonnx_files",
    ],
    "errors": [{"package": "onnx"}, {"package": "onnxruntime"}],
}  # fmt: skip

PER_CHANNEL = 13  # the opset from which QuantizeLinear and DequantizeLinear have an axis
NARROW, NARROW_SCALES = (10, 16), 19  # float16 and bfloat16; the opset from which scales may be that narrow
UNCHANGED, FLOATS = ("Cast", "Identity"), (1, 10, 11, 16)  # what may stand behind a dequantised output
SCALE = "_scale"  # behind a tensor's name, in the quantiser's graphs
METHODS = {"minmax": "MinMax", "entropy": "Entropy", "percentile": "Percentile"}


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnxruntime", "onnx", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def prepare(self, call: PrepareCall) -> Reply:
        """``model.onnx`` pre-quantised or pre-converted; ``qdq`` is calibrated on the call's calibration inputs.

        Raises Unsupported for a file that the quantiser makes invalid, or finds nothing in that it quantises.
        """
        makers: dict[str, Callable[[PrepareCall, str, str], dict[str, object] | None]] = {
            QDQ: _qdq, "dynamic": _dynamic, "fp16": _half,
            **dict.fromkeys(("weights", "fixed", "kmeans"), low_bits_graphs.prepared), "qcdq": qonnx_files.converted,
        }  # fmt: skip
        path = call.path("model.onnx")
        call.stage("build")
        make = makers[call.graph]
        if call.weights in low_bits.NARROW:
            make = low_bits_graphs.prepared
        weights = make(call, call.files["model.onnx"], path)
        onnx = importlib.import_module("onnx")
        model = onnx.load(path)
        _refuse_narrow_scales(model)
        if call.graph in (QDQ, "dynamic") and (endless := sorted(_endless(onnx, model.graph))):
            raise Unsupported(f"onnxruntime's quantiser finds no finite range of values for {', '.join(endless[:3])}")
        sorted_anew = onnx_names.sort_nodes(model.graph)  # the quantiser overlooks what branches and bodies read
        if _without_new_symbols(model, onnx.load(call.files["model.onnx"], load_external_data=False)) or sorted_anew:
            onnx.save(model, path)
        if call.graph == "fp16":
            _refuse_invalid(onnx, model, call.files["model.onnx"])
        operators = [node.op_type for node in model.graph.node]
        made = {QDQ: ("Quantize", "Integer"), "dynamic": ("DynamicQuantize",)}.get(call.graph)
        if made and not any(word in kind for word in made for kind in operators):
            raise Unsupported("onnxruntime's quantiser finds nothing in this file that it quantises")
        counted = {name: operators.count(name) for name in sorted(set(operators))}
        meta: dict[str, object] = {"graph": call.graph, "operators": counted, **_calibration(call)}
        if weights is not None:
            meta["weights"] = weights
        meta.update(output_scales=_output_scales(onnx, model.graph), unrounded=_unrounded(model.graph))
        return Reply(meta, files={"model.onnx": path})

    def layers(self, call: LayersCall) -> Reply:
        """A QDQ graph layer by layer: ``exposed.onnx`` gives all integers, ``layers.onnx`` takes them too.

        ``unrounded.onnx`` is ``layers.onnx`` whose results are clamped and not rounded.
        ``layers`` names the activations in the order of the outputs. With ``fused_sums`` summands are none of them.
        A ``floating`` file is taken apart at what its contractions take, and nothing of it is rounded; with
        ``in_bfloat16`` what lies between its layers is handed over so.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        given = call.files["model.onnx"]
        exposed, separate, exact = (call.path(name) for name in ("exposed.onnx", "layers.onnx", "unrounded.onnx"))
        bound = onnx_separated.bound(onnx, onnx_names.loaded(onnx, given), call.binding)
        inside = onnx_summands.summands(bound.graph) if call.fused_sums and not call.floating else {}
        ends = onnx_taken.ends(onnx, bound, fused_sums=call.fused_sums) if call.floating else []
        own = {value.name for value in bound.graph.output}
        onnx_sizes.declare(onnx, bound, [name for name in ends if name not in own])
        model, names = onnx_separated.exposed(onnx, bound, inside, ends)
        if call.in_bfloat16:
            onnx_taken.in_bfloat16(onnx, model, [name for name in names if name not in own])
        onnx.save(model, exposed)
        apart = onnx_separated.separated(onnx, bound, inside, ends)
        onnx.save(apart, separate)
        meta: dict[str, object] = {
            "layers": names, "inputs": [_described(onnx, value) for value in apart.graph.input],
            "outputs": [_described(onnx, value) for value in apart.graph.output],
            "inside": len(inside), "dynamic": onnx_summands.rounded_inside(apart, names, inside),
        }  # fmt: skip
        onnx.save(apart if call.floating else onnx_unrounded.unrounded(onnx, apart, inside), exact)
        return Reply(meta, files={"exposed.onnx": exposed, "layers.onnx": separate, "unrounded.onnx": exact})


def _calibration(call: PrepareCall) -> dict[str, object]:
    """What a row says of the calibration: method, samples, hash of the set."""
    given = call.calibration
    if not given:
        return {}
    digest = hashlib.sha256()
    for values in given.values():
        digest.update(values.tobytes())
    count = len(next(iter(given.values())))
    described = {"method": call.calibration_method, "samples": count, "sha256": digest.hexdigest()[:16]}
    return {"calibration": described}


def _qdq(call: PrepareCall, source: str, target: str) -> None:
    """Static quantisation: int8 weights per channel, uint8 activations, as QuantizeLinear and DequantizeLinear.

    Before opset 13 these have no axis: a whole weight has one scale there.
    A file that is quantised already is what was asked for: rounding it a second time would make another one.
    """
    onnx = importlib.import_module("onnx")
    whole = onnx_names.loaded(onnx, source)
    if any(node.op_type == "QuantizeLinear" for node in whole.graph.node):
        onnx.save(whole, target)
        return
    quantization = importlib.import_module("onnxruntime.quantization")
    prepared = low_bits_graphs.preprocessed(call, source)
    given = call.calibration
    per_channel = onnx_names.opset(whole) >= PER_CHANNEL
    one_scale = _weights_in_groups(onnx.load(prepared, load_external_data=False).graph)

    class Reader(quantization.CalibrationDataReader):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self._left = samples.feeds(given, call.batched)

        def get_next(self) -> Any:
            return next(self._left, None)

    def quantise(left_alone: list[str]) -> None:
        quantization.quantize_static(
            prepared,
            target,
            Reader(),
            quant_format=quantization.QuantFormat.QDQ,
            per_channel=per_channel,
            activation_type=quantization.QuantType.QUInt8,
            weight_type=quantization.QuantType.QInt8,
            nodes_to_exclude=left_alone,
            calibrate_method=getattr(quantization.CalibrationMethod, METHODS[call.calibration_method]),
            extra_options={"TensorQuantOverrides": {name: [{}] for name in one_scale}},
        )

    quantise([])
    made = onnx.load(target)
    endless = _endless(onnx, made.graph)  # such as a mask of -inf, which no scale can hold
    plain = onnx.load(prepared, load_external_data=False)
    lost = onnx_bounded.lost(onnx, plain, made)
    if endless or lost:
        quantise(_nodes(onnx, prepared, lambda node: _at(node, endless) or onnx_bounded.makes(node, lost)))
        if lost := onnx_bounded.lost(onnx, plain, onnx.load(target, load_external_data=False)):
            raise Unsupported(f"onnxruntime's quantiser leaves out what bounds {min(lost)!r}")


def _weights_in_groups(graph: Any) -> list[str]:
    """The weights of ConvTranspose with groups and a bias, which cannot have a scale for each channel.

    Their channels are those within a group. The quantiser takes as many steps for the bias, which has all channels.
    """
    stored = {tensor.name for tensor in graph.initializer}
    found = []
    for node in graph.node:
        groups = next((one.i for one in node.attribute if one.name == "group"), 1)
        if node.op_type == "ConvTranspose" and groups > 1 and len(node.input) > 2 and node.input[1] in stored:
            found.append(node.input[1])
    return found


def _at(node: Any, tensors: set[str]) -> bool:
    """Whether a node reads or makes one of the tensors."""
    return not tensors.isdisjoint([*node.input, *node.output])


def _endless(onnx: Any, graph: Any) -> set[str]:
    """The tensors whose range the quantiser found to be no finite number: their scales are inf or NaN."""
    import numpy as np

    scales = (tensor for tensor in graph.initializer if tensor.name.endswith(SCALE))
    return {one.name.removesuffix(SCALE) for one in scales if not np.isfinite(onnx.numpy_helper.to_array(one)).all()}


def _nodes(onnx: Any, path: str, wanted: Callable[[Any], bool]) -> list[str]:
    """The names of the nodes of the file that are wanted; nodes without a name get one in it."""
    model = onnx.load(path)
    for index, node in enumerate(model.graph.node):
        node.name = node.name or f"unnamed_{index}"
    onnx.save(model, path)
    return [node.name for node in model.graph.node if wanted(node)]


def _dynamic(call: PrepareCall, source: str, target: str) -> None:
    """Dynamic quantisation: int8 weights, activations scaled by their values at run time."""
    quantization = importlib.import_module("onnxruntime.quantization")
    onnx = importlib.import_module("onnx")
    prepared = low_bits_graphs.preprocessed(call, source)
    # PyTorch's exporter declares weights in value_info too; their shapes are wrong once they are quantised.
    model = _undeclared(onnx.load(prepared))
    onnx_tied.untie(model.graph, _transposed)
    onnx.save(model, prepared)
    quantization.quantize_dynamic(
        prepared, target, weight_type=quantization.QuantType.QInt8, per_channel=False, reduce_range=False,
        nodes_to_exclude=_nodes(onnx, prepared, _is_attention),
    )  # fmt: skip


def _transposed(node: Any) -> Sequence[int]:
    """The input of a Gemm that the quantiser transposes in place, once for each Gemm that reads it.

    So two of them would get it as it was (docs/findings/onnxruntime_quantiser_gemm_shared.py).
    """
    turned = node.op_type == "Gemm" and any(one.name == "transB" and one.i for one in node.attribute)
    return (1,) if turned else ()


def _is_attention(node: Any) -> bool:
    """Whether it is ONNX's own Attention, of which the quantiser makes that of onnxruntime with ONNX's attributes."""
    return node.op_type == "Attention" and node.domain in ("", "ai.onnx")


def _without_new_symbols(model: Any, source: Any) -> bool:
    """Remove declarations of inner tensors with sizes of names that the source does not give them; whether any was.

    Shape inference makes such names for sizes that it does not find, and gives inner tensors those of inputs and
    outputs. A compiler takes them for dynamic sizes, where it would find the numbers by itself.
    """
    given = {(value.name, str(value.type)) for value in source.graph.value_info}
    kept = [
        value for value in model.graph.value_info
        if (value.name, str(value.type)) in given
        or not any(dim.dim_param for dim in value.type.tensor_type.shape.dim)
    ]  # fmt: skip
    changed = len(kept) < len(model.graph.value_info)
    if changed:
        del model.graph.value_info[:]
        model.graph.value_info.extend(kept)
    return changed


def _undeclared(model: Any) -> Any:
    """The model without the declarations of tensors that are weights."""
    weights = {tensor.name for tensor in model.graph.initializer}
    kept = [value for value in model.graph.value_info if value.name not in weights]
    del model.graph.value_info[:]
    model.graph.value_info.extend(kept)
    return model


def _half(call: PrepareCall, source: str, target: str) -> None:
    """Everything computed in float16, with float32 inputs and outputs."""
    onnx = importlib.import_module("onnx")
    float16 = importlib.import_module("onnxruntime.transformers.float16")

    def convert(model: Any) -> None:
        float16.convert_float_to_float16(model, keep_io_types=True, disable_shape_infer=True)

    # A declared weight is declared as float16 even where the converter keeps it in float32, which is no valid file.
    model = onnx.shape_inference.infer_shapes(_undeclared(onnx_names.loaded(onnx, source)))
    _as_bytes(onnx, model.graph)
    onnx_sizing.apart(onnx, model, convert, float16.DEFAULT_OP_BLOCK_LIST)
    _without_repeats(model)
    onnx_names.sort_nodes(model.graph)  # the converter appends its casts, and shape inference goes by the order
    # The converter declares what it casts to an output as that output is declared, whose symbols may be names of their
    # own for sizes of the inputs. A tool that reads them as other sizes refuses the file. Numbers are kept: not every
    # tool finds them again behind a Cast.
    kept = [
        value for value in model.graph.value_info
        if all(dim.HasField("dim_value") for dim in value.type.tensor_type.shape.dim)
    ]  # fmt: skip
    del model.graph.value_info[:]
    model.graph.value_info.extend(kept)
    onnx.save(onnx.shape_inference.infer_shapes(model), target)


def _as_bytes(onnx: Any, graph: Any) -> None:
    """Hold weights that the file lists as numbers as bytes, as most exporters do.

    The converter keeps the form, and float16 in a list of integers is what IREE's importer does not read.
    """
    for tensor in graph.initializer:
        if tensor.data_type == onnx.TensorProto.FLOAT and not tensor.HasField("raw_data"):
            tensor.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(tensor), tensor.name))


def _without_repeats(model: Any) -> None:
    """Remove the nodes that are there twice: the converter casts a tensor once for each node that keeps float32.

    Two nodes that make one tensor are no valid graph.
    """
    found: set[bytes] = set()
    kept = []
    for node in model.graph.node:
        plain = type(node)()
        plain.CopyFrom(node)
        plain.ClearField("name")
        text = plain.SerializeToString(deterministic=True)
        if text not in found:
            kept.append(node)
        found.add(text)
    nodes = [type(node).FromString(node.SerializeToString()) for node in kept]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


def _refuse_invalid(onnx: Any, model: Any, source: str) -> None:
    """Raises Unsupported where the converter to float16 made an invalid file of a valid one."""
    found = _objection(onnx, model)
    if found and not _objection(onnx, source):
        raise Unsupported(f"onnxruntime's converter to float16 makes an invalid file: {found}")


def _objection(onnx: Any, model: Any) -> str:
    """What onnx's checker says of a model or a file first; empty where it finds nothing."""
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        return str(error).partition("\n")[0]
    return ""


def _refuse_narrow_scales(model: Any) -> None:
    """Raises Unsupported where the quantiser wrote scales of a narrow type that the file's opset does not have."""
    opset = onnx_names.opset(model)
    types = {tensor.name: tensor.data_type for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and types.get(node.input[1]) in NARROW and opset < NARROW_SCALES:
            raise Unsupported(
                f"a file that computes in float16 gets scales of float16, which DequantizeLinear has from opset "
                f"{NARROW_SCALES} on; the file has opset {opset}"
            )


def _described(onnx: Any, value: Any) -> dict[str, object]:
    tensor = value.type.tensor_type
    shape = [dim.dim_value for dim in tensor.shape.dim]
    return {"name": value.name, "dtype": onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type).name, "shape": shape}


def _unrounded(graph: Any) -> list[str]:
    """The types of recurrent layers with weights that are no dequantised integers."""
    made = {node.output[0] for node in graph.node if node.op_type == "DequantizeLinear"}
    layers = [node for node in graph.node if node.op_type in low_bits.RECURRENT]
    return sorted({node.op_type for node in layers if not made.issuperset(node.input[1:3])})


def _output_scales(onnx: Any, graph: Any) -> list[float | None]:
    """The step of every output that is the dequantisation of integers, maybe in another type; None for the others."""
    values = {tensor.name: tensor for tensor in graph.initializer}
    makers = {node.output[0]: node for node in graph.node if node.op_type in ("DequantizeLinear", *UNCHANGED)}
    scales: list[float | None] = []
    for output in graph.output:
        maker = makers.get(output.name)
        while maker is not None and maker.op_type in UNCHANGED and _is_floating(maker):
            maker = makers.get(maker.input[0])
        known = maker is not None and maker.op_type == "DequantizeLinear" and maker.input[1] in values
        scales.append(float(onnx.numpy_helper.to_array(values[maker.input[1]]).max()) if maker and known else None)
    return scales


def _is_floating(node: Any) -> bool:
    """Whether a node of ``UNCHANGED`` gives floating point."""
    return node.op_type != "Cast" or next(one.i for one in node.attribute if one.name == "to") in FLOATS
