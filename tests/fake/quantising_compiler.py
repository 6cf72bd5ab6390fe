"""A compiler of the tests' own that quantises by itself, and whose artefacts can be read back; with faults on request.

It takes the two matrix products of the fake framework. ``--bench-option fakeq.fault=<kind>`` asks for a fault of its
converter, of its kernels, or of what its artefact tells. It runs in an environment that has numpy and onnx.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench_plugin.agent.adapter import Reply, Unsupported
from bench_plugin.agent.contract import CompileCall, RebuildCall, RunCall
from bench_plugin.agent.toolkit import samples
from bench_plugin.agent.toolkit.rebuilding import Layers

ADAPTER = {
    "name": "fakeq",
    "kind": "compiler",
    "toolchain": "fake",
    "title": "Fake quantising compiler",
    "distribution": "onnx",
    "operations": ["compile", "run", "rebuild"],
    "takes": ["onnx"],
    "precisions": {"w8a8": ["original"], "w8": ["original"]},
    "targets": ["local"],
    "options": {
        "fault": [
            "none", "converter-weights", "converter-bias", "converter-range", "kernel-bias", "kernel-scale",
            "kernel-zero", "kernel-dynamic", "unread", "unread-noise", "exposed", "one-layer", "behind", "behind-noise",
            "corrected", "corrected-too-far", "hidden", "hidden-noise", "range-wide", "range-input", "range-narrow",
            "range-cut", "range-unknown", "hidden-corrected", "weights-and-kernel",
        ]
    },
    "on_request": True,
}  # fmt: skip

# By how much the range of a tensor is wrong. The kind "range-narrow" and "range-cut" may leave out what is rare.
RANGES = {"converter-range": ("y", 0.5), "range-wide": ("h", 16), "range-input": ("x", 0.25),
          "range-narrow": ("h", 0.95), "range-cut": ("h", 0.25)}  # fmt: skip
# Biases are moved by so much of the range of the output, and are no constants of the file any more.
CORRECTED = {"corrected": 0.0035, "corrected-too-far": 0.03, "hidden-corrected": 0.015}
LIMITS = (-128, 127)
LAYERS = (("a", "b"), ("c", "d"))
PROBES = "probes"  # in an artefact whose tensors are outputs


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """None of its own."""
        return {}

    def reset(self) -> None:
        """Nothing to forget."""

    def compile(self, call: CompileCall) -> Reply:
        """``net.npz``: integers and scales of both layers."""
        import onnx

        call.stage("compile")
        fault = call.options["fault"]
        model = onnx.load(call.files["model.onnx"])
        known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
        found: dict[str, Any] = {}
        if call.precision == "w8a8":
            x = next(iter(call.calibration.values()))
            h = np.maximum(x @ known["a"] + known["b"], 0)
            y = h @ known["c"]
            known["d"] = known["d"] + CORRECTED.get(fault, 0) * float(y.max() - y.min())
            ranges = {"x": x, "h": h, "y": y + known["d"]}
            for name, values in ranges.items():
                low, high = min(float(values.min()), 0.0), max(float(values.max()), 0.0)
                tensor, factor = RANGES.get(fault, ("", 1))
                scale = (high - low) / 255 * (factor if name == tensor else 1)
                found[f"{name}_scale"], found[f"{name}_zero"] = scale, round(-128 - low / scale)
        for (weights, bias), source in zip(LAYERS, ("x", "h"), strict=True):
            w = known[weights].astype("float64")
            step = abs(w).max(axis=0) / 127
            if fault in ("converter-weights", "weights-and-kernel") and weights == "c":
                w[:, 1] *= 1.02
            found[weights], found[f"{weights}_step"] = np.clip(np.rint(w / step), -127, 127).astype("int8"), step
            b = known[bias] * (0 if fault == "converter-bias" and bias == "b" else 1)
            found[bias] = b
            if call.precision == "w8a8":
                found[f"{bias}_step"] = step * found[f"{source}_scale"]
                found[bias] = np.rint(b / found[f"{bias}_step"]).astype("int32")
        path = call.path("net.npz")
        np.savez(path, **found)
        return Reply({"effective": call.precision, "integer": "integer"}, files={"net.npz": path})

    def run(self, call: RunCall) -> Reply:
        """The outputs of both layers' kernels, and their tensors where they are outputs."""
        call.stage("run")
        net = dict(np.load(call.files["net.npz"]))
        kernel = _static if call.precision == "w8a8" else _dynamic
        fault = call.options["fault"]
        return samples.answered(call, lambda xs: kernel(net, xs[0], fault), list(call.inputs.values()))

    def rebuild(self, call: RebuildCall) -> Reply:
        """Both layers, or what the fault leaves of them."""
        call.stage("build")
        fault = call.options["fault"]
        if fault.startswith("unread"):
            raise Unsupported("this artefact tells nothing")
        net = dict(np.load(call.files["net.npz"]))
        corrected = fault in CORRECTED
        layers = _static_layers(net, corrected, fault) if call.precision == "w8a8" else _dynamic_layers(net)
        if fault == "one-layer":
            layers.unread.append("MATMUL: no translation")
        path = call.path("net.npz")
        np.savez(path, **net, **{PROBES: np.ones(1)})
        return layers.reply({"net.npz": path})


def _real(net: dict[str, Any], name: str) -> Any:
    return net[name].astype("float64") * net[f"{name}_step"]


def _quantised(net: dict[str, Any], name: str, values: Any) -> Any:
    moved = np.rint(values / net[f"{name}_scale"]) + net[f"{name}_zero"]
    return np.clip(moved, *LIMITS).astype("int8")


def _dequantised(net: dict[str, Any], name: str, values: Any) -> Any:
    return (values.astype("float64") - net[f"{name}_zero"]) * net[f"{name}_scale"]


def _static(net: dict[str, Any], x: Any, fault: str) -> list[Any]:
    q = _quantised(net, "x", x)
    h = _dequantised(net, "x", q) @ _real(net, "a") + _real(net, "b") * (fault != "kernel-bias")
    p = _quantised(net, "h", np.maximum(h, 0))
    if fault == "kernel-zero":
        p = np.minimum(p.astype("int32") + 1, 127).astype("int8")
    y = _dequantised(net, "h", p) @ _real(net, "c") + _real(net, "d")
    if fault in ("kernel-scale", "weights-and-kernel"):
        y[..., 0] *= 1.02
    r = _quantised(net, "y", y)
    given = _dequantised(net, "y", r).astype("float32")
    if fault == "behind":  # something in floating point that no layer stands for
        given = given * np.float32(1.001)
    if fault in ("hidden", "hidden-corrected"):  # another rounding, where the tensors are no outputs
        given = given + np.float32(1e-3) * (PROBES not in net)
    if fault.endswith("-noise") and not (fault == "hidden-noise" and PROBES in net):
        given = given + np.float32(5) * np.sin(100 * given)
    if PROBES not in net:
        return [given]
    return [given + np.float32(0.01 * (fault == "exposed")), q, p + np.int8(3 * (fault == "exposed")), r, x]


def _dynamic(net: dict[str, Any], x: Any, fault: str) -> list[Any]:
    h = np.maximum(_rounded(x) @ _real(net, "a") + net["b"], 0).astype("float32")
    taken = h if fault == "kernel-dynamic" else _rounded(h)
    y = (taken @ _real(net, "c") + net["d"]).astype("float32")
    return [y, x.astype("float32"), h] if PROBES in net else [y]


def _rounded(x: Any) -> Any:
    x = x.astype("float64")
    low, high = min(float(x.min()), 0.0), max(float(x.max()), 0.0)
    scale = (high - low) / 255 or 1.0
    zero = np.rint(-128 - low / scale)
    return (np.clip(np.rint(x / scale + zero), *LIMITS) - zero) * scale


def _static_layers(net: dict[str, Any], corrected: bool, fault: str) -> Layers:
    layers = Layers()
    calibrated, narrowed = fault != "range-unknown", fault in ("range-narrow", "range-cut")
    for (weights, bias), (source, target), output in zip(LAYERS, (("x", "h"), ("h", "y")), (1, 2), strict=True):
        if source == "x":
            layers.made_integers(
                layers.floats("t_in", 4), 1, "QUANTIZE", *_parameters(net, "x"), LIMITS, calibrated=calibrated
            )
        x = layers.integers(f"t_{source}", output, *_parameters(net, source))
        w = layers.quantised("weight", "MATMUL", _real(net, weights), net[f"{weights}_step"])
        b = _real(net, bias)
        b = layers.constant(b) if corrected else layers.quantised("bias", "MATMUL", b, net[f"{bias}_step"])
        y = layers.node("Add", [layers.node("MatMul", [x, w]), b])
        y = layers.node("Relu", [y]) if target == "h" else y
        layers.made_integers(
            y, output + 1, "MATMUL", *_parameters(net, target), LIMITS, calibrated=calibrated, narrowed=narrowed
        )
    return layers


def _dynamic_layers(net: dict[str, Any]) -> Layers:
    layers = Layers()
    for (weights, bias), source, output in zip(LAYERS, ("x", "h"), (1, 2), strict=True):
        x = layers.rounded(layers.floats(f"t_{source}", output), [0, 1], LIMITS, False)
        w = layers.quantised("weight", "MATMUL", _real(net, weights), net[f"{weights}_step"])
        b = layers.floating("bias", "MATMUL", net[bias])
        y = layers.node("Add", [layers.node("MatMul", [x, w]), b])
        y = layers.node("Relu", [y]) if source == "x" else y
        layers.made_floats(y, {"x": 2, "h": 0}[source], "MATMUL", dynamic=True)
    return layers


def _parameters(net: dict[str, Any], name: str) -> tuple[float, int]:
    return float(net[f"{name}_scale"]), int(net[f"{name}_zero"])
