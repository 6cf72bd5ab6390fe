"""ONNX's operators by version, and what every one of its backend tests consists of, as plain data."""

from __future__ import annotations

import importlib
import json
from typing import Any

from bench_plugin.adapters.characterise import onnx_facts
from bench_plugin.adapters.characterise.compliance_calls import SignaturesCall
from bench_plugin.agent import packs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.toolkit import versions

ADAPTER = {
    "name": "onnx_signatures",
    "kind": "tool",
    "toolchain": "onnxruntime",
    "title": "Versions and types of ONNX's operators",
    "distribution": "onnx",
    "operations": ["signatures"],
    "uses": ["onnx_facts", "compliance_calls"],
    "errors": [{"package": "onnx"}],
}

CALLS = {"signatures": SignaturesCall}
FIXED, MORE = "-", "*"  # an input whose type is always the same; behind a name: any number of such inputs


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx", "numpy", "protobuf")

    def reset(self) -> None:
        """Nothing to forget."""

    def signatures(self, call: SignaturesCall) -> Reply:
        """``schemas.json``: every version of every operator; ``facts.json``: the facts of every case of ``cases.json``
        and ``cases.bin``, by name.
        """
        call.stage("build")
        onnx = importlib.import_module("onnx")
        with open(call.files["cases.json"], encoding="utf-8") as file:
            cases = json.load(file)
        with open(call.files["cases.bin"], "rb") as file:
            reader = packs.Reader(file.read())
        facts = {}
        for name, row in cases.items():
            model = onnx.ModelProto.FromString(bytes(reader.bytes(row["model"])))
            facts[name] = onnx_facts.described(onnx, model)
        schemas = _schemas(onnx)
        paths = {"schemas.json": call.path("schemas.json"), "facts.json": call.path("facts.json")}
        for path, value in zip(paths.values(), (schemas, facts)):
            with open(path, "w", encoding="utf-8") as file:
                json.dump(value, file, separators=(",", ":"))
        return Reply({"schemas": len(schemas), "cases": len(facts), "onnx": onnx.__version__}, files=paths)


def _schemas(onnx: Any) -> list[dict[str, object]]:
    found: dict[tuple[str, str], list[Any]] = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        found.setdefault((schema.domain or "ai.onnx", schema.name), []).append(schema)
    rows: list[dict[str, object]] = []
    for (domain, name), all_versions in sorted(found.items()):
        before: Any = None
        like = 0
        for schema in sorted(all_versions, key=lambda one: int(one.since_version)):
            interface = _interface(schema)
            if interface != before:
                before, like = interface, schema.since_version
            rows.append(
                {
                    "domain": domain, "operator": name, "version": schema.since_version, "like": like,
                    "inputs": _variables(schema, schema.inputs), "outputs": _variables(schema, schema.outputs),
                    "defaults": _defaults(onnx, schema),
                }
            )  # fmt: skip
    return rows


def _variables(schema: Any, parameters: Any) -> list[str]:
    """The type variable of each input or output."""
    known = {one.type_param_str for one in schema.type_constraints}
    found = []
    for one in parameters:
        name = one.type_str if one.type_str in known and one.is_homogeneous else FIXED
        found.append(name + MORE if _is_variadic(one) else name)
    return found


def _defaults(onnx: Any, schema: Any) -> dict[str, str]:
    """The defaults of attributes that are numbers or texts."""
    found = {}
    for name, attribute in sorted(schema.attributes.items()):
        value = attribute.default_value
        kinds = onnx.AttributeProto
        if value.type == kinds.INT:
            found[name] = str(value.i)
        elif value.type == kinds.FLOAT:
            found[name] = "%g" % value.f
        elif value.type == kinds.STRING:
            found[name] = value.s.decode("utf-8", "replace")
    return found


def _is_variadic(parameter: Any) -> bool:
    return str(parameter.option).endswith("Variadic")


def _interface(schema: Any) -> Any:
    """What a user of an operator depends on: attributes with defaults, and the inputs and outputs without their names.

    Type variables count by their order, and the types that they may have do not: those are a part of the evidence.
    """
    known = {one.type_param_str for one in schema.type_constraints}
    order: dict[str, str] = {}
    ports = []
    for one in (*schema.inputs, None, *schema.outputs):
        if one is None:
            ports.append("->")
            continue
        kind = order.setdefault(one.type_str, "T%d" % len(order)) if one.type_str in known else one.type_str
        ports.append("%s %s %s" % (kind, one.option, one.is_homogeneous))
    attributes = [
        (name, str(one.type), one.required, one.default_value.SerializeToString())
        for name, one in sorted(schema.attributes.items())
    ]
    return ports, attributes, bool(schema.deprecated)
