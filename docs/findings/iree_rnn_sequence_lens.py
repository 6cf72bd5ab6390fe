"""IREE 3.13.0 (ONNX importer, llvm-cpu): LSTM, GRU and RNN ignore `sequence_lens`, and LSTM ignores the peepholes `P`.

ONNX (LSTM, GRU, RNN 14 and 22): `sequence_lens` gives the length of each sequence of the batch; Y_h holds the hidden
state after the last step *of that sequence*. Here a batch of two sequences of lengths 1 and 2, padded to 3 steps, gives
the same Y_h as without lengths: the padding was computed as if it were data. LSTM's input P (peephole weights) is
dropped in the same silent way. Nothing warns, at compile time or at run time; the function keeps the argument.
What is right is computed below in numpy, in float64.
Versions: iree-base-compiler and iree-base-runtime 3.13.0, onnx 1.23.2, numpy. Ends with 1 while the defect shows.
"""
import io
import sys

import numpy as np
import onnx
from iree import runtime
from iree.compiler import ir
from iree.compiler.api import Output, Session, Source
from iree.compiler.extras import onnx_importer
from onnx import TensorProto, helper as h

STEPS, BATCH, WIDTH, HIDDEN = 3, 2, 2, 2
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def run(model, inputs):
    written = io.BytesIO()
    with ir.Context() as context:
        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model, data_prop=True))
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        module.write_bytecode(written)
    session = Session()
    session.set_flags("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host", "--iree-input-type=onnx")
    invocation = session.invocation()
    if not invocation.parse_source(Source.wrap_buffer(session, written.getvalue())) or not invocation.execute():
        raise RuntimeError("does not compile")
    output = Output.open_membuffer()
    invocation.output_vm_bytecode(output)
    loaded = runtime.load_vm_flatbuffer(bytes(output.map_memory()), driver="local-sync")
    names = [one for one in loaded.vm_module.function_names if not one.startswith("__") and not one.endswith("$async")]
    return loaded[names[0]](*inputs).to_host().copy()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def expected(kind, x, w, r, lengths, p):
    """Y_h by the formulas of the operators' specifications; no bias, initial states of zero."""
    found = np.zeros((1, BATCH, HIDDEN))
    for row, length in enumerate(lengths):
        state = cell = np.zeros(HIDDEN)
        for step in range(length):
            inner, outer = w[0].astype(float) @ x[step, row], r[0].astype(float) @ state
            if kind == "RNN":
                state = np.tanh(inner + outer)
            elif kind == "GRU":  # gates z, r, h; linear_before_reset = 0
                z, gate = (sigmoid((inner + outer)[n * HIDDEN : (n + 1) * HIDDEN]) for n in (0, 1))
                new = np.tanh(inner[2 * HIDDEN :] + r[0].astype(float)[2 * HIDDEN :] @ (gate * state))
                state = (1 - z) * new + z * state
            else:  # gates i, o, f, c; peepholes of i, o, f
                i, o, f, c = np.split(inner + outer, 4)
                pi, po, pf = np.split(p[0].astype(float), 3)
                i, f = sigmoid(i + pi * cell), sigmoid(f + pf * cell)
                cell = f * cell + i * np.tanh(c)
                state = sigmoid(o + po * cell) * np.tanh(cell)
        found[0, row] = state
    return found


def case(kind, lengths, peepholes):
    rng = np.random.default_rng(0)
    gates = GATES[kind] * HIDDEN
    x = rng.standard_normal((STEPS, BATCH, WIDTH)).astype(np.float32)
    w = rng.standard_normal((1, gates, WIDTH)).astype(np.float32)
    r = rng.standard_normal((1, gates, HIDDEN)).astype(np.float32)
    p = rng.standard_normal((1, 3 * HIDDEN)).astype(np.float32) * peepholes
    given = {"x": x, "w": w, "r": r}
    names = ["x", "w", "r"]
    if lengths:
        given["lengths"] = np.array(lengths, np.int32)
        names += ["", "lengths"]
    if peepholes:
        given["p"] = p
        names += [""] * (7 - len(names)) + ["p"]
    ports = [h.make_tensor_value_info(k, TensorProto.INT32 if v.dtype.kind == "i" else TensorProto.FLOAT, v.shape)
             for k, v in given.items()]
    node = h.make_node(kind, names, ["", "y_h"], hidden_size=HIDDEN)
    y = h.make_tensor_value_info("y_h", TensorProto.FLOAT, [1, BATCH, HIDDEN])
    model = h.make_model(h.make_graph([node], "g", ports, [y]), opset_imports=[h.make_opsetid("", 14)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    error = np.abs(run(model, list(given.values())) - expected(kind, x, w, r, lengths or [STEPS] * BATCH, p)).max()
    what = ", ".join(filter(None, [f"lengths {lengths}" if lengths else "", "peepholes" if peepholes else ""]))
    print(f"{kind:4s} {what or 'plain':16s} off by {error:.2g}{'   WRONG' if error > 1e-5 else ''}")
    return error > 1e-5


wrong = [case(*one) for one in (
    ("LSTM", None, 0), ("GRU", None, 0), ("RNN", None, 0),
    ("LSTM", [1, 2], 0), ("GRU", [1, 2], 0), ("RNN", [1, 2], 0), ("LSTM", None, 1),
)]
sys.exit(1 if any(wrong) else 0)
