"""A compiler of the tests' own: its artefact is the ONNX file, run by the reference evaluator, with faults on request.

``--bench-option fakec.fault=<kind>`` asks for one. It runs in an environment that has numpy and onnx.
"""

from __future__ import annotations

import os
import resource
import struct
import subprocess
import sys
import time
from typing import Any

from bench_plugin.agent import external
from bench_plugin.agent.adapter import Reply, Unsupported, VersionSkew
from bench_plugin.agent.contract import CompileCall, CompilerCall, RunCall
from bench_plugin.agent.toolkit import samples

ADAPTER = {
    "name": "fakec",
    "kind": "compiler",
    "toolchain": "fake",
    "title": "Fake compiler",
    "distribution": "onnx",
    "operations": ["compile", "run"],
    "takes": ["onnx"],
    "precisions": {
        "fp32": ["original"], "bf16": ["original"], "w16": ["w16", "original"], "w8a8": ["qdq", "original"],
    },
    "targets": ["local", "aarch64"],
    "backends": ["plain", "shiny"],
    "options": {
        "fault": [
            "none", "compile-exception", "compile-crash", "compile-hang", "compile-megabyte", "compile-orphan",
            "compile-disk", "compile-outside", "skew", "other-precision", "run-crash", "run-wrong", "run-bf16",
             "run-opposite", "run-nan", "run-shape", "run-steps", "run-leaks", "simulated", "wrong-machine",
            "run-twice", "run-alone", "run-varies", "run-jitters", "run-pause", "run-threads", "run-positions",
            "leaves-out", "ignores-input", "compile-spin", "compile-pause", "scenario-hang", "wrong-apart",
            "wrong-exposed", "wrong-within", "wrong-sums", "rounds-some", "rounds-some-wrong", "rounds-some-apart",
            "wrong-hidden", "drops-biases", "loses-digits",
            "sums-in-bf16", "sums-in-bf16-wrong", "sums-in-fp32", "sums-in-fp32-wrong",
        ]
    },
    "on_request": True,
    "concurrent": True,
}  # fmt: skip

ELF = {"aarch64": 183, "x86-64": 62}


class Adapter:
    """Remembers how often it ran."""

    def __init__(self) -> None:
        self._runs = 0

    def versions(self) -> dict[str, str]:
        """None of its own."""
        return {}

    def reset(self) -> None:
        """Nothing to forget."""

    def compile(self, call: CompileCall) -> Reply:
        """The file as it is, or as the fault has it; an ELF header where another target was asked for."""
        call.stage("compile")
        fault = _fault(call)
        _before(fault, call)
        files = external.artefact(call.files["model.onnx"], call.folder)
        if not call.target.is_local:
            kernel = call.path("kernel.o")
            machine = ELF["x86-64" if fault == "wrong-machine" else call.target.name]
            with open(kernel, "wb") as file:
                file.write(b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 1, machine) + bytes(44))
            files["kernel.o"] = kernel
        meta: dict[str, object] = {
            "effective": call.precision, "integer": "simulated" if fault == "simulated" else "",
            "placement": {"compiled_by": os.getpid(), "backend": call.backend},
        }  # fmt: skip
        return Reply(meta, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs of the file, changed by the fault."""
        import numpy as np
        import onnx
        from onnx.reference import ReferenceEvaluator

        call.stage("run")
        fault = _fault(call)
        if fault == "run-pause":
            time.sleep(3)
        if fault == "run-crash":
            os.abort()
        self._runs += 1
        if fault in ("run-varies", "run-jitters"):
            kind = "run-wrong" if fault == "run-varies" else fault
            counted = call.place.deploy is None  # a deployed model is no further run
            fault = kind if counted and _even(os.environ["FAKE_COUNTER"]) else "none"
        if fault == "run-threads":
            fault = "run-jitters" if call.threads == 1 else "none"
        if fault == "run-leaks" and self._runs > 1:
            fault = "run-wrong"
        model = onnx.load(call.files["model.onnx"])
        if call.precision == "bf16" or fault == "run-bf16":
            for tensor in model.graph.initializer:
                if tensor.data_type == 1:
                    raw = onnx.numpy_helper.to_array(tensor).copy().view(np.uint32)
                    rounded = ((raw + 0x8000) & np.uint32(0xFFFF0000)).view(np.float32)
                    tensor.CopyFrom(onnx.numpy_helper.from_array(rounded, tensor.name))
        if fault in ("wrong-within", "wrong-sums", "wrong-hidden"):
            _move_ties(model.graph)
        if fault in ("wrong-apart", "wrong-exposed", "wrong-within", "wrong-sums", "wrong-hidden"):
            fault = _of_layers(fault, model.graph)
        if fault.startswith("rounds-some"):
            _round_some(model.graph, {"wrong": 1.01, "apart": 1.0005}.get(fault.rpartition("-")[2], 1.0))
        if fault == "leaves-out":
            _leave_out(model.graph)
        if fault == "drops-biases":
            _drop_biases(model.graph)
        for opset in model.opset_import:
            opset.version = max(opset.version, 21)  # the evaluator's quantisation begins there
        own = {"sums-in-bf16": _narrow_gemm, "sums-in-fp32": _long_mean, "loses-digits": _losing_gemm}.get(
            fault.removesuffix("-wrong")
        )
        evaluator = ReferenceEvaluator(model, new_ops=[own()] if own else None)
        if own and fault.endswith("-wrong"):
            fault = "run-opposite"
        given = call.named(evaluator.input_names)

        calls = iter(range(sys.maxsize))

        def run(xs: Any) -> list[Any]:
            if fault == "scenario-hang" and getattr(call, "scenario", "") and next(calls) == 20:
                time.sleep(600)  # behind the calls before the test, in one of LoadGen's queries
            if fault == "ignores-input" and not _apart(model.graph):
                xs = [*xs[:-1], np.zeros_like(xs[-1])]
            if fault == "run-twice" or (fault == "run-alone" and call.threads == 1):
                evaluator.run(None, dict(zip(given, xs, strict=True)))
            return [_changed(fault, y) for y in evaluator.run(None, dict(zip(given, xs, strict=True)))]

        return samples.answered(call, run, list(given.values()), {"placement": {"run_by": os.getpid()}})


def _narrow_gemm() -> Any:
    """Gemm whose products are added one by one in bfloat16."""
    import numpy as np
    from onnx.reference.op_run import OpRun

    def bfloat16(values: Any) -> Any:
        raw = np.ascontiguousarray(values, np.float32).view(np.uint32)
        return ((raw + 0x7FFF + ((raw >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)

    class Gemm(OpRun):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, w: Any, b: Any, **options: Any) -> tuple[Any]:
            total = np.zeros((len(x), w.shape[1]), np.float32)
            for k in range(len(w)):
                total = bfloat16(total + x[:, k : k + 1] * w[k])
            return (bfloat16(total + b),)

    return Gemm


def _losing_gemm() -> Any:
    """A Gemm that is off by seven roundings to float32 of its largest result, as a blocked product may be."""
    import numpy as np
    from onnx.reference.op_run import OpRun

    class Gemm(OpRun):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, w: Any, b: Any, **options: Any) -> tuple[Any]:
            exact = x.astype(np.float64) @ w + b
            return ((exact + 7 * 2.0**-24 * np.abs(exact).max()).astype(np.float32),)

    return Gemm


def _long_mean() -> Any:
    """ReduceMean over the last axis whose terms are added one by one in float32."""
    import numpy as np
    from onnx.reference.op_run import OpRun

    class ReduceMean(OpRun):  # type: ignore[misc]
        op_domain = ""

        def _run(self, x: Any, **options: Any) -> tuple[Any]:
            total = np.cumsum(x, axis=-1, dtype=np.float32)[..., -1:]  # which adds from left to right
            return (total / np.float32(x.shape[-1]),)

    return ReduceMean


def _apart(graph: Any) -> bool:
    """Whether these are the layers of a quantised model, side by side."""
    return any(value.name.endswith("_given") for value in graph.input)


def _of_layers(fault: str, graph: Any) -> str:
    """Wrong for layers side by side, or for a model with its integers as outputs; ``wrong-exposed`` for both.

    ``wrong-sums`` is wrong where what is added to something is an output, ``wrong-hidden`` where nothing more is one.
    """
    if fault == "wrong-hidden":
        return "run-wrong" if len(graph.output) == 1 and not _apart(graph) else "none"
    if _apart(graph):
        return "run-steps" if fault in ("wrong-apart", "wrong-exposed") else "none"
    if fault == "wrong-sums":
        return "run-wrong" if _gives_summands(graph) else "none"
    return "none" if fault == "wrong-apart" or len(graph.output) == 1 else "run-wrong"


def _gives_summands(graph: Any) -> bool:
    added = {name for node in graph.node if node.op_type == "Add" for name in node.input}
    return any(
        node.op_type == "DequantizeLinear" and node.output[0] in added and node.input[0] == value.name
        for node in graph.node for value in graph.output
    )  # fmt: skip


def _move_ties(graph: Any) -> None:
    """Make the scales of weights a little larger, so that what lies near a tie goes to the other side."""
    import onnx

    for tensor in graph.initializer:
        scales = onnx.numpy_helper.to_array(tensor)
        if tensor.name.endswith("_scale") and scales.ndim:
            tensor.CopyFrom(onnx.numpy_helper.from_array((scales * 1.00001).astype(scales.dtype), tensor.name))


def _leave_out(graph: Any) -> None:
    """Give the sum named ``residual`` what its block began with, and nothing of what the block made."""
    import onnx

    for node in graph.node:
        if node.name == "residual":
            node.CopyFrom(onnx.helper.make_node("Identity", node.input[:1], node.output))


def _drop_biases(graph: Any) -> None:
    """Set what is named ``b0``, ``b1`` ... to zero."""
    import onnx

    for tensor in graph.initializer:
        if tensor.name.startswith("b"):
            zeros = onnx.numpy_helper.to_array(tensor) * 0
            tensor.CopyFrom(onnx.numpy_helper.from_array(zeros, tensor.name))


def _round_some(graph: Any, factor: float) -> None:
    """Round what is named ``..._half`` and slopes in attributes to float16, of ``..._inverse`` the reciprocal.

    What is named ``..._single`` becomes ``factor`` times as large.
    """
    import numpy as np
    import onnx

    def half(values: Any) -> Any:
        return values.astype("float16").astype("float32")

    roundings = {
        "half": half, "inverse": lambda values: 1 / half(1 / values),
        "single": lambda values: values * factor,
    }  # fmt: skip
    for tensor in graph.initializer:
        rounding = roundings[tensor.name.rpartition("_")[2]]
        values = np.asarray(rounding(onnx.numpy_helper.to_array(tensor)), dtype=np.float32)
        tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.name == "alpha":
                attribute.f = float(np.float16(attribute.f))


def _even(counter: str) -> bool:
    """Whether this is the second, fourth … call that asks; the file ``counter`` grows by a byte with each."""
    with open(counter, "ab") as file:
        file.write(b"x")
        return file.tell() % 2 == 0


def _fault(call: CompilerCall) -> str:
    return call.options["fault"]


def _before(fault: str, call: CompileCall) -> None:
    if fault == "compile-exception":
        raise RuntimeError("cannot lower node 17 (Gemm)")
    if fault == "compile-crash":
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.abort()
    if fault == "compile-hang":
        time.sleep(600)
    if fault == "compile-pause":
        time.sleep(3)
    while fault == "compile-spin":
        pass
    if fault == "compile-megabyte":
        sys.stdout.write("a warning of the compiler\n" * 40_000)
        sys.stdout.flush()
        raise RuntimeError("x" * (1 << 20))
    if fault == "compile-orphan":
        subprocess.Popen(["sleep", "613"], start_new_session=True)
    if fault == "compile-disk":
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        with open(call.path("huge"), "wb") as file:
            file.write(bytes(2 << 20))
    if fault == "compile-outside":
        with open("stray.txt", "w") as file:  # beside wherever it happens to stand
            file.write("a file that nobody asked for")
    if fault == "skew":
        raise VersionSkew("opset 17, this compiler knows 16")
    if fault == "other-precision" and call.precision == "bf16":
        raise Unsupported("asked bf16, ran fp32")


def _changed(fault: str, y: Any) -> Any:
    import numpy as np

    if fault == "run-wrong":
        return y * np.asarray(1.01, dtype=y.dtype)
    if fault == "run-opposite":
        return -y
    if fault == "run-nan":
        return np.full_like(y, np.nan)
    if fault == "run-shape":
        return y[..., :-1]
    if fault == "run-jitters":
        return np.nextafter(y, np.asarray(np.inf, dtype=y.dtype))
    if fault == "run-positions":  # other bits for the first sample of a batch
        return np.concatenate([np.nextafter(y[:1], np.asarray(np.inf, dtype=y.dtype)), y[1:]])
    if fault == "run-steps" and y.dtype == np.uint8:
        return np.where(y > 200, y - 7, y + 7).astype(np.uint8)
    return y
