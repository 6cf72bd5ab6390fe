"""onnxsim as onnx2tf runs it: three times over the file, in processes of its own.

onnx2tf starts the program ``onnxsim``, whose imports take a second each time. Here one process imports it once and
forks for every run, with the same effect: what dies or refuses leaves the file as it was.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import traceback

ADAPTER = {
    "name": "onnx_simplifier",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "onnxsim",
    "distribution": "onnxsim",
    "operations": [],
}

TIMES = 3  # as onnx2tf has it
SAID = ".onnxsim"  # behind the file's name: what onnxsim said of it


class Adapter:
    """Remembers nothing; the adapters that use this file take :class:`Simplifier`."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        from bench_plugin.agent.toolkit import versions

        return versions.installed("onnxsim", "onnx", "onnxruntime")

    def reset(self) -> None:
        """Nothing to forget."""


class Simplifier:
    """The process that has onnxsim imported; it is started at first use and ends with this process."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def simplify(self, path: str) -> str:
        """Simplify the file in place; what onnxsim refused or died of, "" where it did neither.

        Raises RuntimeError where the process that runs it cannot start or ends.
        """
        process = self._started()
        for _ in range(TIMES):
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(json.dumps(path) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            if not answer:
                self._process = None
                raise RuntimeError("the process that runs onnxsim ended with status %d" % process.wait())
            if int(answer):
                return _said(path, int(answer))
        return ""

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            # TensorFlow's exporters want protobuf written in Python, which would be slow here.
            kept = {k: v for k, v in os.environ.items() if k != "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"}
            self._process = subprocess.Popen(
                [sys.executable, os.path.abspath(__file__)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                env=kept, encoding="utf-8",
            )  # fmt: skip
        return self._process


def _said(path: str, status: int) -> str:
    """The last line that onnxsim said; the signal that ended it, or its status, where it said nothing."""
    try:
        with open(path + SAID, encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.strip()]
    except FileNotFoundError:
        lines = []
    return lines[-1] if lines else "it ended with status %d" % status


def serve() -> None:
    """Run onnxsim on each file that is named on stdin (a line of JSON); answers with the status of each run."""
    import onnxsim  # type: ignore[import-not-found]

    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what onnxsim prints goes to the log
    for line in sys.stdin:
        path = json.loads(line)
        child = os.fork()
        if child == 0:
            os._exit(_one_run(onnxsim, path))
        answers.write("%d\n" % os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        answers.flush()


def _one_run(onnxsim: object, path: str) -> int:
    """The status of the program ``onnxsim`` for this file, which runs here."""
    sys.argv = ["onnxsim", path, path]
    try:
        onnxsim.main()  # type: ignore[attr-defined]
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # a forked process must not go on as its parent
        with open(path + SAID, "w", encoding="utf-8") as file:
            file.write(traceback.format_exc())
        return 1
    return 0


if __name__ == "__main__":
    serve()
