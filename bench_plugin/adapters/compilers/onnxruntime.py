"""ONNX Runtime: its artefact is the ONNX file itself, compiled anew in every session."""

from __future__ import annotations

import importlib
import os
import platform
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from bench_plugin.adapters.onnx_tools.shared import onnx_names, onnxruntime_values
from bench_plugin.agent import external
from bench_plugin.agent.adapter import NotProvided, Reply, Unsupported, VersionSkew
from bench_plugin.agent.contract import QDQ, CompileCall, CompilerCall, RunCall
from bench_plugin.agent.toolkit import contractions, samples, versions

ADAPTER = {
    "name": "onnxruntime",
    "kind": "compiler",
    "toolchain": "onnxruntime",
    "title": "ONNX Runtime",
    "distribution": "onnxruntime",
    "operations": ["compile", "run"],
    "imports": ["onnxruntime"],
    "operators": True,
    "takes": ["onnx"],
    "precisions": {
        "fp32": ["original"],
        "w16": ["w16"],
        "w8a8": ["qdq"],
        "w8a8-dyn": ["dynamic"],
        "w8": ["weights"],
        "w4": ["weights"],
        "w4a8": ["qdq"],
        "int4": ["weights", "qdq", "fixed", "kmeans"],
        "uint4": ["weights", "qdq"],
        "int2": ["weights", "qdq", "fixed", "kmeans"],
        "uint2": ["weights", "qdq"],
    },
    "targets": ["local", "aarch64", "armhf", "riscv64"],
    "boards": ["aarch64"],
    "portable": True,
    "concurrent": True,
    "artefact_is_model": True,
    "backends": ["cpu", "xnnpack", "cuda"],
    # With "default" products with weights of few bits are computed as released: see FEW_BITS below.
    "options": {"optimisation": ["all", "basic", "none"], "few_bits": ["exact", "default"]},
    "opsets": [7, 26],
    "ir": [3, 13],
    "values": [
        "sequence",
        "optional",
        "str",
        "bfloat16",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn",
        "int4",
        "uint4",
        "int2",
        "uint2",
    ],
    "distributions": ["onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-qnn"],
    "uses": ["onnx_names", "onnxruntime_values"],
    "errors": [{"package": "onnxruntime"}],
}

BUILDS = ("onnxruntime", "onnxruntime-gpu", "onnxruntime-openvino", "onnxruntime-qnn")  # distributions that bring it

PROVIDERS = {"cpu": "CPUExecutionProvider", "xnnpack": "XnnpackExecutionProvider", "cuda": "CUDAExecutionProvider"}

# The types of stored weights, by precision, as a product of matrices holds them: a sign is in its zero point.
TYPES = {
    "w8": "int8", "w4": "int4", "w4a8": "int4", "int4": "int4", "uint4": "int4", "int2": "int2", "uint2": "int2",
}  # fmt: skip
STORED = ("weights", "fixed", "kmeans")  # graphs in which only weights are rounded
LEVELS = {"basic": "ORT_ENABLE_BASIC", "none": "ORT_DISABLE_ALL"}

# Makes uint8 of int8 weights, whose products with uint8 do not saturate. Of weights without zero points it makes a file
# that does not run (docs/findings/onnxruntime_x64_zero_point.py).
UNSIGNED = "session.x64quantprecision"
# What trades accuracy for speed, as it must be for exact numbers: products with weights of few bits round activations
# to int8 unasked, and without VNNI products of uint8 and int8 saturate.
EXACT = {
    "session.qdq_matmulnbits_accuracy_level": "0",
    "mlas.qnbit.force_fp32": "1",
    "mlas.use_lut_gemm": "0",
    "mlas.enable_gemm_fastmath_arm64_bfloat16": "0",
    UNSIGNED: "1",
    "session.set_denormal_as_zero": "0",
    "optimization.enable_gelu_approximation": "0",
}
# Those of them that are for weights of few bits. As released, activations are rounded to int8
# (docs/findings/onnxruntime_low_bits_activations.py).
FEW_BITS = ("session.qdq_matmulnbits_accuracy_level", "mlas.qnbit.force_fp32", "mlas.use_lut_gemm")
# Files of few bits whose activations are rounded too run without optimisation, which is not what such a file says: it
# rounds biases in steps that are large then, leaves Relu out, refuses Clip, and makes nodes of two bits that it refuses
# (docs/findings/onnxruntime_bias_rounded.py, onnxruntime_low_bits_relu.py, _clip.py, _refused.py).
ROUNDED = ("w4a8", "int4", "uint4", "int2", "uint2")
SATURATES = "U8S8 saturates here"
# What a backend trades accuracy for, as it must be for exact numbers: products are rounded to the 10 bits of TF32
# (docs/findings/onnxruntime_cuda_tf32.py).
EXACT_OF = {PROVIDERS["cuda"]: {"use_tf32": "0"}}

# Contractions of the graph that a session runs, those of integers and the others.
INTEGERS = frozenset(
    {"QLinearConv", "QLinearMatMul", "ConvInteger", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"}
    | {"QGemm", "QAttention", "DynamicQuantizeLSTM", "ConvIntegerToFloat", "QLinearConvTranspose"}
)
FLOATS = frozenset(
    {"Conv", "FusedConv", "NhwcFusedConv", "ConvTranspose", "Gemm", "FusedGemm", "MatMul", "FusedMatMul", "MatMulNBits"}
    | {"LSTM", "GRU", "RNN", "Attention", "MultiHeadAttention", "Einsum", "DeformConv"}
)

# What a session says of a file that is newer than it.
SKEW = re.compile(
    r"[Uu]nsupported model IR version|max supported IR version|ValidateOpsetForDomain|under development and support"
)

# StringNormalizer asks the C library for a locale that a small machine does not have; with it the same file runs.
LOCALE = re.compile(r"Failed to construct locale with name:([^:\s]+)")
BESIDE = "optimised.weights"


class Adapter:
    """Keeps the session that was made last."""

    def __init__(self) -> None:
        self._key: Any = None
        self._session: Any = None
        self._exact: list[str] = []

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        build = versions.found(*BUILDS) or versions.installed("onnxruntime")
        return {**build, **versions.installed("numpy")}

    def reset(self) -> None:
        """Forget the session."""
        self._key = self._session = None

    def compile(self, call: CompileCall) -> Reply:
        """``model.onnx`` as it is, with the weights that lie beside it, once a session could be made of it.

        Raises VersionSkew for a file that is newer than the runtime, Unsupported for a backend that its build lacks or
        that takes no node of the model, NotProvided for a backend or a locale that the machine lacks.
        """
        provider = PROVIDERS[call.backend or "cpu"]
        if provider not in importlib.import_module("onnxruntime").get_available_providers():
            raise Unsupported("this build of onnxruntime has no %s" % provider)
        call.stage("compile")
        quantised = call.graph in (QDQ, "dynamic", *STORED)
        optimised = call.path("optimised.onnx") if quantised else ""
        session = self._opened(call, optimised)
        switches = _read_back(session, self._exact, provider)
        files = external.artefact(call.files["model.onnx"], call.folder)
        placement: dict[str, object] = {"providers": session.get_providers(), **_assigned(session, provider)}
        integer, notes = "", []
        if quantised:
            operators, carriers = _contents(optimised)
            counts = contractions.counted((name, name in INTEGERS) for name in operators if name in INTEGERS | FLOATS)
            placement.update(contractions.placed(counts))
            if call.precision in TYPES:
                placement.update(contractions.carried(carriers, TYPES[call.precision], in_float=call.graph == QDQ))
            integer = "" if call.graph in STORED else contractions.integer(counts)
            acts = call.option("optimisation", "all") != "none"  # the switch acts on graphs that are optimised
            if integer and counts["integer"] and _saturates() and not (acts and UNSIGNED in switches):
                notes = [SATURATES]
        meta: dict[str, object] = {
            "effective": call.precision, "integer": integer, "portable": True, "dynamic": True, "placement": placement,
            "switches": {**switches, "optimisation": _optimisation(call), "vnni": not _saturates()},
            "notes": notes,
        }  # fmt: skip
        return Reply(meta, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of ``model.onnx``. Raises NotProvided for a backend that this machine lacks."""
        session = self._opened(call)
        call.stage("run")
        given = call.named([row.name for row in session.get_inputs()])
        typed = onnxruntime_values.are_typed((*session.get_inputs(), *session.get_outputs()))

        def made(xs: Sequence[Any]) -> dict[str, Any]:
            return {name: onnxruntime_values.ortvalue_of(x) if typed else x for name, x in zip(given, xs)}

        def arrays(found: Sequence[Any]) -> list[Any]:
            return [onnxruntime_values.array_of(value) if typed else value for value in found]

        names = [row.name for row in session.get_outputs()]
        called = session.run_with_ort_values if typed else session.run

        def run(xs: Sequence[Any]) -> list[Any]:
            return arrays(called(names, made(xs)))

        def bind(xs: Sequence[Any]) -> Any:
            return partial(called, names, made(xs)), arrays

        meta: dict[str, object] = {
            "outputs": [{"name": row.name, "type": row.type} for row in session.get_outputs()],
            "placement": {"providers": session.get_providers()},
        }  # fmt: skip
        return samples.answered(call, run, list(given.values()), meta, bind)

    def _opened(self, call: CompilerCall, optimised: str = "") -> Any:
        """The session of the call's file; it writes its optimised graph to the path ``optimised`` if there is one."""
        path = call.files["model.onnx"]
        providers = list(dict.fromkeys([PROVIDERS[call.backend or "cpu"], PROVIDERS["cpu"]]))
        optimisation, exact = _optimisation(call), _exact_switches(call)
        key = (path, os.stat(path).st_mtime_ns, optimisation, *exact, call.threads, providers, optimised, call.alone)
        if key != self._key:
            self.reset()
            whole = external.placed(call.files, call.folder)
            # The switch is ours. It makes two weights of one that several layers share, so that no session comes about,
            # and of a constant first factor with several zero points a node that does not run.
            others = {name: value for name, value in exact.items() if name != UNSIGNED}
            try:
                self._session = self._made(call, whole, optimised, providers, exact)
                switch_fails = UNSIGNED in exact and _quantised(call) and not _runs(self._session)
            except Exception as error:
                if SKEW.search(str(error)):
                    raise VersionSkew(str(error)) from error
                locale = LOCALE.search(str(error))
                if locale:
                    raise NotProvided("this machine has no locale %s; Debian: package locales" % locale[1]) from error
                if UNSIGNED not in exact:
                    raise
                self._session = self._made(call, whole, optimised, providers, others)
                switch_fails = False
            if switch_fails:
                self._session = self._made(call, whole, optimised, providers, others)
                if not _runs(self._session):  # zeros are no input for this file, whatever the switch
                    self._session = self._made(call, whole, optimised, providers, exact)
            _computes(self._session, providers[0])
            self._key = key
        return self._session

    def _made(self, call: CompilerCall, path: str, optimised: str, providers: Sequence[str], exact: Any) -> Any:
        """A session of the file with the switches ``exact``, which are remembered."""
        runtime = importlib.import_module("onnxruntime")
        chosen = runtime.SessionOptions()
        chosen.log_severity_level = 3
        chosen.intra_op_num_threads = call.threads
        chosen.inter_op_num_threads = 1
        spinning = "1" if call.alone else "0"  # else other agents work beside
        chosen.add_session_config_entry("session.intra_op.allow_spinning", spinning)
        if providers != [PROVIDERS["cpu"]]:
            chosen.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
        for name, value in exact.items():
            chosen.add_session_config_entry(name, value)
        if optimised:
            chosen.optimized_model_filepath = optimised
            chosen.add_session_config_entry("session.optimized_model_external_initializers_file_name", BESIDE)
        optimisation = _optimisation(call)
        if optimisation != "all":
            chosen.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, LEVELS[optimisation])
        self._exact = list(exact)
        return runtime.InferenceSession(path, chosen, providers=[(name, EXACT_OF.get(name, {})) for name in providers])


def _quantised(call: CompilerCall) -> bool:
    """Whether the file of the call has tensors that are quantised as it runs."""
    with open(call.files["model.onnx"], "rb") as file:
        return call.graph in (QDQ, "dynamic") or b"QuantizeLinear" in file.read()


def _runs(session: Any) -> bool:
    """Whether the session runs on zeros; symbolic sizes are 1."""
    import numpy as np

    feeds = {}
    try:
        for row in session.get_inputs():
            kind = row.type[len("tensor(") : -1]
            shape = [size if isinstance(size, int) else 1 for size in row.shape]
            feeds[row.name] = np.zeros(shape, {"float": "float32", "double": "float64"}.get(kind, kind))
        session.run(None, feeds)
    except Exception as error:  # whatever the runtime raises, or a type that NumPy does not know
        print("the session does not run on zeros: %s" % error)
        return False
    return True


def _computes(session: Any, provider: str) -> None:
    """Raises NotProvided where the provider could not be loaded: onnxruntime then takes the CPU, and only logs it."""
    if provider not in session.get_providers():
        raise NotProvided("%s cannot be used on this machine: onnxruntime left it out of its session" % provider)


def _assigned(session: Any, provider: str) -> dict[str, object]:
    """The nodes of the optimised graph and which of them are not computed by ``provider``; nothing of the CPU's own.

    onnxruntime computes on the CPU what a provider leaves. Raises Unsupported where it computes no node.
    """
    if provider == PROVIDERS["cpu"]:
        return {}
    parts = session.get_provider_graph_assignment_info()
    nodes = [(part.ep_name, node.op_type) for part in parts for node in part.get_nodes()]
    left = [kind for name, kind in nodes if name != provider]
    if nodes and len(left) == len(nodes):
        raise Unsupported("%s takes no node of this model" % provider)
    fallback = ["%s x %d" % pair for pair in sorted(Counter(left).items())]
    return {"requested": 1 - len(left) / len(nodes) if nodes else 1.0, "nodes": len(nodes), "fallback": fallback}


def _exact_switches(call: CompilerCall) -> dict[str, str]:
    """Those of EXACT that are set for the file of this call."""
    left_out = () if call.option("few_bits", "exact") == "exact" else FEW_BITS
    # Weight-only files have no products of integers, and a user's file may be one.
    unsigned = call.graph in (QDQ, "dynamic") or (call.graph not in STORED and _saturates())
    return {name: value for name, value in EXACT.items() if name not in left_out and (name != UNSIGNED or unsigned)}


def _read_back(session: Any, names: Iterable[str], provider: str) -> dict[str, object]:
    """What the session's options, and those of its provider, say of themselves."""
    chosen = session.get_session_options()
    of_provider = session.get_provider_options().get(provider, {})
    return {
        **{name: chosen.get_session_config_entry(name) for name in names},
        **{name: of_provider.get(name) for name in EXACT_OF.get(provider, {})},
    }


def _saturates() -> bool:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        flags = ""
    return contractions.saturates(platform.machine(), flags)


def _optimisation(call: CompilerCall) -> str:
    """How far graphs are optimised: as the option says, but not at all where that would not be what the file says."""
    asked = call.option("optimisation", "all")
    changed = call.graph == QDQ and call.precision in ROUNDED and call.option("few_bits", "exact") == "exact"
    return "none" if changed else asked


def _contents(path: str) -> tuple[list[str], dict[str, int]]:
    """The operators of a graph that a session wrote, and in which types it holds the weights of how many of them.

    The file is removed then, as are its weights.
    """
    onnx = importlib.import_module("onnx")
    graphs = list(onnx_names.graphs(onnx.load(path, load_external_data=False).graph))
    found = [node.op_type for graph in graphs for node in graph.node]
    carriers = Counter(filter(None, (_carrier(node, graph) for graph in graphs for node in graph.node)))
    os.remove(path)
    beside = os.path.join(os.path.dirname(path), BESIDE)
    if os.path.exists(beside):
        os.remove(beside)
    return found, dict(carriers)


def _carrier(node: Any, graph: Any) -> str:
    """The type that the weights of a contraction are held in as it runs; empty for what has no stored weights."""
    if node.op_type == "MatMulNBits":
        return "int%d" % next((one.i for one in node.attribute if one.name == "bits"), 4)
    if node.op_type in INTEGERS:
        return "int8"
    stored = {tensor.name for tensor in graph.initializer}
    stored |= {one.output[0] for one in graph.node if one.op_type == "DequantizeLinear" and one.input[0] in stored}
    return "float32" if node.op_type in FLOATS and any(name in stored for name in node.input[1:2]) else ""
