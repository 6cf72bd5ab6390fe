"""The glue between the C agent and a model in C: its tensors, its digest, and the call of it, as one C file."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Dict, List, Mapping, Sequence

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.wire import DTYPES, MAX_RANK, nbytes

# The names on the wire of C's types, as code that compilers write has them.
WIRE_TYPES = {
    "float": "float32", "double": "float64", "_Float16": "float16", "__bf16": "bfloat16", "bool": "bool",
    "_Bool": "bool", "int8_t": "int8", "int16_t": "int16", "int32_t": "int32", "int64_t": "int64", "uint8_t": "uint8",
    "uint16_t": "uint16", "uint32_t": "uint32", "uint64_t": "uint64",
}  # fmt: skip

TEXT = """/* The glue of one model, written by its compiler's adapter (core.h of the C agent). */
#include "%(code)s"

#include "core.h"

%(storage)s
const bench_tensor bench_inputs[] = {%(inputs)s};
const bench_tensor bench_outputs[] = {%(outputs)s};
const uint16_t bench_input_count = %(input_count)d;
const uint16_t bench_output_count = %(output_count)d;
const uint8_t bench_model_digest[32] = {%(digest)s};
const char bench_about[] = "{\\"machine\\":\\"" BENCH_MACHINE "\\",%(about)s";

void bench_model(void) { %(entry)s(%(arguments)s); }
"""


def digest_of(*parts: bytes) -> str:
    """SHA-256 of a model's code and weights, 64 hex digits."""
    found = hashlib.sha256()
    for part in parts:
        found.update(hashlib.sha256(part).digest())
    return found.hexdigest()


def text(code: str, entry: str, parameters: Sequence[Mapping[str, Any]], digest: str, about: Mapping[str, Any]) -> str:
    """The glue of the model whose C file is ``code`` and whose function is ``entry``.

    ``parameters`` are rows of what the function takes, in its order: ``kind`` (input, output or present), ``name``, and
    of tensors ``type`` (C's) and ``shape``. ``about`` is what the program says of itself beside its architecture.
    Raises Unsupported for types that do not travel, and for sizes that are known only when it runs.
    """
    storage: List[str] = []
    tensors: Dict[str, List[str]] = {"input": [], "output": []}
    arguments: List[str] = []
    for row in parameters:
        if row["kind"] == "present":
            arguments.append("1")
            continue
        if row["kind"] not in tensors or not all(isinstance(size, int) for size in row["shape"]):
            raise Unsupported("a program has tensors of fixed sizes; %s is known only when it runs" % row["name"])
        if row["type"] not in WIRE_TYPES or len(row["shape"]) > MAX_RANK:
            raise Unsupported("a program takes no tensor of C type %s and rank %d" % (row["type"], len(row["shape"])))
        name = "bench_%s_%d" % (row["kind"], len(tensors[row["kind"]]))
        dims = "".join("[%d]" % max(1, size) for size in row["shape"]) or "[1]"
        storage.append("static %s %s%s;" % (row["type"], name, dims))
        tensors[row["kind"]].append(_tensor(name, WIRE_TYPES[row["type"]], row["shape"]))
        arguments.append("(void *)%s" % name)
    said = json.dumps(dict(about))[1:]
    return TEXT % {
        "code": code, "entry": entry, "storage": "\n".join(storage), "arguments": ", ".join(arguments),
        "inputs": ", ".join(tensors["input"] or ["{0}"]), "outputs": ", ".join(tensors["output"] or ["{0}"]),
        "input_count": len(tensors["input"]), "output_count": len(tensors["output"]),
        "digest": ", ".join("0x" + digest[at : at + 2] for at in range(0, 64, 2)),
        "about": said.replace("\\", "\\\\").replace('"', '\\"'),
    }  # fmt: skip


def _tensor(name: str, dtype: str, shape: Sequence[int]) -> str:
    dims = ", ".join(str(size) for size in shape) or "0"
    return "{%d, %d, {%s}, %du, %s}" % (DTYPES[dtype][0], len(shape), dims, nbytes(dtype, shape), name)
