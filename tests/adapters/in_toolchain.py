"""Compiles a file and runs the artefact with a real adapter, in the interpreter of its toolchain: prints JSON.

``python in_toolchain.py ADAPTERS_FOLDER REQUEST``; the request is the path of a JSON file, see ``real.py``.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from bench_plugin.agent import modules
from bench_plugin.agent.adapter import symptom_of
from bench_plugin.agent.arrays import to_numpy
from bench_plugin.agent.contract import CompileCall, Place, Port, RunCall, Target
from bench_plugin.agent.wire import Array


def main(folder: str, path: str) -> int:
    """0, whatever the adapter did; what it replied or raised is printed."""
    with open(path, encoding="utf-8") as file:
        request = json.load(file)
    for module in request["modules"]:  # as an agent loads them: what is used comes first
        found = modules.loaded(
            f"bench_plugin.adapters.{module}", os.path.join(folder, module.replace(".", "/") + ".py")
        )
    log = os.dup(1)
    os.dup2(2, 1)  # what tools print is no answer
    answer = _answer(found.Adapter(), request)
    with os.fdopen(log, "w", encoding="utf-8") as out:
        json.dump(answer, out, default=str)
    os._exit(0)  # TensorFlow's threads need not be waited for


def _answer(adapter: Any, request: dict[str, Any]) -> dict[str, Any]:
    fields = dict(request["fields"])
    for key in ("input_ports", "output_ports"):
        fields[key] = tuple(Port(row[0], row[1], tuple(row[2])) for row in fields[key])
    arrays = {name: Array(dtype, tuple(shape), bytes.fromhex(data))
              for name, (dtype, shape, data) in request["arrays"].items()}  # fmt: skip
    answer: dict[str, Any] = {}
    try:
        place = Place(_folder(request["folder"], "compile"), request["files"], {}, lambda stage: None)
        made = adapter.compile(CompileCall(batched=False, target=Target(), **fields).at(place))
        answer["compile"], answer["files"] = made.meta, sorted(made.files)
        place = Place(_folder(request["folder"], "run"), made.files, arrays, lambda stage: None)
        ran = adapter.run(RunCall(once=True, values=request["values"], **fields).at(place))
        answer["run"] = ran.meta
        answer["outputs"] = {name: [a.dtype, list(a.shape), to_numpy(a).tolist()] for name, a in ran.arrays.items()}
    except Exception as error:  # the test looks at it
        answer.update(error=f"{type(error).__name__}: {error}", symptom=symptom_of(error))
    return answer


def _folder(base: str, name: str) -> str:
    folder = os.path.join(base, name)
    os.makedirs(folder)
    return folder


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
