"""TFLite's adapter with a fault in what it writes, as an adapter of its own in the project of a test."""

from __future__ import annotations

import textwrap
from pathlib import Path

from bench_plugin.adapters.compilers import tflite
from tests.given_file import compiles
from tests.project import Project

NAME = "planted"
# ``node`` is every node of the operator in turn; what is put in changes it, and counts how many it ``changed``.
EDIT = """

def _planted(content):
    from ai_edge_litert import schema_py_generated as schema
    import flatbuffers, numpy
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(bytearray(content), 0))
    graph, changed = model.subgraphs[0], 0
    for node in graph.operators:
        code = model.operatorCodes[node.opcodeIndex]
        if max(code.builtinCode, code.deprecatedBuiltinCode) != schema.BuiltinOperator.{operator}:
            continue
{body}
    assert changed == 1, changed
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())
"""


def plant(project: Project, operator: str, body: str) -> str:
    """The name of the compiler that changes one node of this operator, for which ``body`` is the source."""
    source = Path(tflite.__file__).read_text("utf-8").replace('"name": "tflite"', f'"name": "{NAME}"')
    call = "        content, said = _converted(tf, kept, apply, specs, call)\n"
    assert source.count(call) == 1, "the place where the file is made"
    source = source.replace(call, f"{call}        content = _planted(content)\n")
    source += EDIT.format(operator=operator, body=textwrap.indent(textwrap.dedent(body), " " * 8))
    compiles(project, project.write("planted.py", source))
    return NAME
