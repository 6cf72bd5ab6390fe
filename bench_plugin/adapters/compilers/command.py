"""Any command-line compiler, described by a TOML file (fixtures/compilers/<name>.toml): a vendor's tool needs no code.

The record of it is :class:`bench_plugin.agent.contract.Description`. Its keys::

    title = "..."                    its name in the grid
    toolchain = "emx"                whose bin folder goes first on PATH; without it the host's PATH counts alone
    inputs = ["onnx"]                what it compiles from
    targets = ["local"]
    command = ["tool", "{model}"]    argv, or a list of argv that run one after another in the folder {output}
    artefact = "model.so"            a glob below {output}, or several; the first match of the first is {artefact}
    timeout = 300                    seconds for each command
    precisions = { fp32 = ["original"], w8a8 = ["qdq"] }    the graphs that it is given at each
    names = { w8a8 = "int8" }        its own words for precisions and targets
    variables = { TOOL_HOME = "{here}" }                    environment variables
    version = { command = ["tool", "--version"], pattern = '(\\d+\\.\\d+)' }
    files = ["lib/*.so"]             whose content results depend on, besides programs and files among the arguments
    environment = ["TOOL_MODE"]      variables of the host whose values results depend on
    bind = ["--dim", "{symbol}={value}"]                    what {binding} stands for, once per symbolic dimension
    errors = [{ pattern = "not supported", symptom = "unsupported" }]    or invalid-model, version-skew, out-of-memory
    obtain = "https://..."            where the tool comes from: said where its executable is absent
    [runner]                         without one the artefact is made and not run
    command = ["run", "{artefact}", "{inputs}", "{outputs}"]
    format = "npy"                   or raw: little-endian elements in C order
    samples = "each"                 one start for every sample; all: one start, files of [N, ...]

Placeholders: {model} {output} {target} {precision} {threads} {here} (the description's folder) {python} {binding}
{calibration} (a folder of <input>.npy), and for the runner {artefact} {artefacts} (their folder) {inputs} {outputs}
(one argument per file, in the model's order) {signature} (a JSON file: inputs and outputs with name, dtype, shape and
file). {{ and }} are braces. No shell reads any of it.
"""

from __future__ import annotations

import glob
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from bench_plugin.agent.adapter import InvalidModel, NotProvided, Reply, Unsupported, VersionSkew
from bench_plugin.agent.contract import CompileCall, CompilerCall, Description, RunCall, Runner
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "command",
    "kind": "compiler",
    "one_sample": "a described command is started for one sample, or for files of any number of them",
    "toolchain": "onnxruntime",  # where the description names none: an interpreter with numpy is all it needs
    "title": "command line",
    "distribution": "numpy",
    "operations": ["compile", "run"],
    "takes": ["onnx"],
    "precisions": {},  # this, the targets and the toolchain are the description's
    "targets": ["local"],
    "errors": [{"exception": "CommandFailed"}],
}

SYMPTOMS: dict[str, type[Exception]] = {
    "unsupported": Unsupported,
    "invalid-model": InvalidModel,
    "version-skew": VersionSkew,
    "out-of-memory": MemoryError,
}
KEPT = 32 * 1024  # bytes of a command's output, at each end
DRAINED = 64  # reads of what is still in the pipe when the command has ended
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w+)\}")
CAUSE = re.compile(r"error|fail|exception|cannot|not found|unsupported", re.IGNORECASE)


class CommandFailed(Exception):
    """A command ended with another status than 0, or made nothing."""


class CommandTimeout(CommandFailed):
    """A command did not end in time."""

    symptom = "timeout"


class CommandKilled(CommandFailed):
    """A signal ended a command."""

    symptom = "crash"


class Adapter:
    """Remembers nothing."""

    def versions(self) -> dict[str, str]:
        """Of what takes part for every description; the tool's own version comes with each artefact."""
        return versions.installed("numpy")

    def reset(self) -> None:
        """Nothing to forget."""

    def compile(self, call: CompileCall) -> Reply:
        """The files that match the artefact's patterns, after all commands have run.

        Raises NotProvided for an absent executable, CommandTimeout, CommandFailed, or what an error pattern stands for.
        """
        work = _Work(call)
        commands = work.argvs(work.said.command)
        version = work.version()
        for name, values in call.calibration.items():
            _save(os.path.join(work.folder("calibration"), quote(name, safe="") + ".npy"), values, "npy")
        call.stage("compile")
        output = ""
        for argv in commands:
            output = work.execute(argv)
        found = work.artefacts()
        if not found:
            raise work.failed("%s made nothing that matches %s" % (commands[-1][0], work.said.artefact), output)
        files = {quote(os.path.relpath(path, work.output), safe=""): path for path in found}
        meta: dict[str, object] = {
            "effective": "", "integer": "", "tool": work.said.title, "tool_version": version,
            "switches": {"commands": [" ".join(map(os.path.basename, argv)) for argv in commands]},
        }  # fmt: skip
        return Reply(meta, files=files)

    def run(self, call: RunCall) -> Reply:
        """Outputs out0, out1 ... of the described runner, which is started for every sample or once for all.

        Raises Unsupported for a description without a runner.
        """
        work = _Work(call)
        runner = work.said.runner
        if runner is None:
            raise Unsupported("the description has no runner")
        for name, path in call.files.items():
            place = os.path.join(work.output, unquote(name))
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.symlink(path, place)  # under its own name, beside its siblings
        work.words["artefact"], work.words["artefacts"] = work.artefacts()[0], work.output
        call.stage("run")
        given = call.inputs
        inputs = [given[port.name] for port in call.input_ports]

        def run(xs: Sequence[Any]) -> list[Any]:
            return _run_once(work, runner, xs)

        if inputs and runner.samples == "all" and not call.once:
            ys = _run_once(work, runner, inputs, count=len(inputs[0]))
            return Reply({}, samples.blobs(dict(zip(samples.numbered(len(ys)), ys))))
        return samples.answered(call, run, inputs)


class _Work:
    """One call: the checked description, the words for its placeholders, the folders, the environment."""

    def __init__(self, call: CompilerCall) -> None:
        self.call = call
        self.said = _checked(call.description)
        names, target, precision = self.said.names, call.target.name, call.precision
        self.output = self.folder("output")
        self.words: dict[str, str | list[str]] = {
            "model": call.files.get("model.onnx", ""), "output": self.output, "python": sys.executable,
            "target": names.get(target, target), "precision": names.get(precision, precision),
            "threads": str(call.threads), "calibration": self.folder("calibration"),
            "here": os.path.dirname(os.path.abspath(self.said.path)), "binding": self._binding(),
        }  # fmt: skip
        path = os.environ.get("PATH", os.defpath)
        if self.said.toolchain:
            path = os.path.dirname(sys.executable) + os.pathsep + path
        own = {key: " ".join(self.filled([text])) for key, text in self.said.variables.items()}
        scratch = {"TMPDIR": self.folder("tmp"), "XDG_CACHE_HOME": self.folder("cache"), "LC_ALL": "C"}
        self.environment = {**os.environ, **scratch, **own, "PATH": path}

    def folder(self, name: str) -> str:
        """A folder of the call, made on first use."""
        path = self.call.path(name)
        os.makedirs(path, exist_ok=True)
        return path

    def filled(self, argv: Sequence[str]) -> list[str]:
        """The argv with its placeholders replaced; one that stands for a list alone becomes several arguments."""
        done: list[str] = []
        for text in argv:
            several = self.words.get(text[1:-1]) if text[:1] == "{" else None
            done += several if isinstance(several, list) else [PLACEHOLDER.sub(self._word, text)]
        return done

    def argvs(self, command: Sequence[str] | Sequence[Sequence[str]]) -> list[list[str]]:
        """Every argv of a command, with the path of its executable. Raises NotProvided where one is absent."""
        found = []
        for argv in _several(command):
            first, *rest = self.filled(argv)
            path = shutil.which(first, path=self.environment["PATH"])
            if path is None:
                raise NotProvided("%s not found%s" % (first, self.said.obtain and "; to get it: " + self.said.obtain))
            found.append([path, *rest])
        return found

    def execute(self, argv: list[str]) -> str:
        """The output of a command. Raises what :meth:`failed` gives, CommandTimeout or CommandKilled."""
        seconds = self.said.timeout
        status, text = _executed(argv, self.output, self.environment, seconds)
        if status is None:
            raise CommandTimeout("%s did not end in %g s" % (os.path.basename(argv[0]), seconds))
        if status < 0:
            name = signal.Signals(-status).name
            raise CommandKilled("%s was ended by %s" % (os.path.basename(argv[0]), name))
        if status:
            raise self.failed("%s ended with status %d" % (os.path.basename(argv[0]), status), text)
        return text

    def failed(self, what: str, text: str) -> Exception:
        """The exception that the description's error patterns name, else CommandFailed with the first useful line."""
        for row in self.said.errors:
            match = re.search(row.pattern, text)
            if match:
                start = text.rfind("\n", 0, match.start()) + 1
                return SYMPTOMS[row.symptom](text[start:].partition("\n")[0].strip()[:500])
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        cause = next((line for line in lines if CAUSE.search(line)), lines[-1] if lines else "it printed nothing")
        return CommandFailed("%s: %s" % (what, cause[:500]))

    def version(self) -> str:
        """What the version's pattern finds in its command's output, empty where none is described."""
        row = self.said.version
        if row is None:
            return ""
        text = "".join(self.execute(argv) for argv in self.argvs(row.command))
        match = re.search(row.pattern, text)
        return match[match.re.groups and 1] if match else ""

    def artefacts(self) -> list[str]:
        """Files below the output's folder that match, in the patterns' order. Raises CommandFailed for one outside."""
        patterns = self.said.artefact
        found: dict[str, None] = {}
        for pattern in [patterns] if isinstance(patterns, str) else patterns:
            for name in sorted(glob.glob(pattern, root_dir=self.output, recursive=True)):
                path = os.path.join(self.output, name)
                if isinstance(self.call, CompileCall) and not _below(path, self.output):
                    raise CommandFailed("the artefact %s is outside of its folder" % name)
                if os.path.isfile(path):
                    found[path] = None
        return list(found)

    def _word(self, match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0][0]
        value = self.words.get(match[1])
        if not isinstance(value, str):
            raise ValueError("the placeholder {%s} is unknown here; there are %s" % (match[1], ", ".join(self.words)))
        return value

    def _binding(self) -> list[str]:
        used = dict.fromkeys(size for port in self.call.input_ports for size in port.shape if isinstance(size, str))
        binding = self.call.binding
        return [
            part.replace("{symbol}", symbol).replace("{value}", str(binding[symbol]))
            for symbol in used
            if symbol in binding
            for part in self.said.bind
        ]


def _several(command: Sequence[str] | Sequence[Sequence[str]]) -> list[list[str]]:
    """A command's argvs, where it may be a single one."""
    if all(isinstance(part, str) for part in command):
        return [[str(part) for part in command]]
    return [list(argv) for argv in command]


def _run_once(work: _Work, runner: Runner, xs: Sequence[Any], count: int | None = None) -> list[Any]:
    """Inputs to files, the runner, files to outputs; with a ``count`` of samples, all files are [count, ...]."""
    form = runner.format
    suffix = "npy" if form == "npy" else "bin"
    folder = work.folder("io")
    takes: list[dict[str, Any]] = []
    gives: list[dict[str, Any]] = []
    for index, (port, x) in enumerate(zip(work.call.input_ports, xs)):
        path = os.path.join(folder, "in%d.%s" % (index, suffix))
        _save(path, x, form)
        takes.append({"name": port.name, "dtype": x.dtype.name, "shape": list(x.shape), "file": path})
    for index, port in enumerate(work.call.output_ports):
        path = os.path.join(folder, "out%d.%s" % (index, suffix))
        if os.path.lexists(path):
            os.unlink(path)  # that of the sample before must not pass for this one's
        shape = list(port.shape)
        if count is not None:
            shape = [count, *(shape[1:] if work.call.batched else shape)]
        gives.append({"name": port.name, "dtype": port.dtype, "shape": shape, "file": path})
    signature = os.path.join(folder, "signature.json")
    with open(signature, "w", encoding="utf-8") as file:
        json.dump({"inputs": takes, "outputs": gives}, file)
    work.words.update(
        inputs=[row["file"] for row in takes], outputs=[row["file"] for row in gives], signature=signature
    )
    text = ""
    for argv in work.argvs(runner.command):
        text = work.execute(argv)
    absent = [row["name"] for row in gives if not os.path.isfile(row["file"])]
    if absent:
        raise work.failed("the runner wrote no output %s" % ", ".join(absent), text)
    return [_loaded(row, form) for row in gives]


def _save(path: str, values: Any, form: str) -> None:
    import numpy as np

    plain = np.ascontiguousarray(values).reshape(values.shape)
    if form == "npy":
        np.save(path, plain, allow_pickle=False)
    else:
        plain.astype(plain.dtype.newbyteorder("<")).tofile(path)


def _loaded(row: Mapping[str, Any], form: str) -> Any:
    import numpy as np

    if form == "npy":
        return np.load(row["file"], allow_pickle=False)
    unknown = [dim for dim in row["shape"] if isinstance(dim, str)]
    shape = [-1 if isinstance(dim, str) else dim for dim in row["shape"]]
    if len(unknown) > 1:
        raise ValueError("output %s has the shape %s: raw files do not tell it, use npy" % (row["name"], row["shape"]))
    return np.fromfile(row["file"], dtype=np.dtype(row["dtype"]).newbyteorder("<")).reshape(shape)


def _below(path: str, folder: str) -> bool:
    return os.path.realpath(path).startswith(os.path.realpath(folder) + os.sep)


def _executed(
    argv: Sequence[str], folder: str, environment: Mapping[str, str], seconds: float
) -> tuple[int | None, str]:
    """The status of a program (None: out of time) and both ends of its output. Its process group ends with it."""
    process = subprocess.Popen(
        argv, cwd=folder, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    head, tail, left_out = bytearray(), bytearray(), 0
    end, ended, after = time.monotonic() + seconds, False, 0
    with process.stdout as pipe:
        while after < DRAINED:
            if not ended and os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                ended = True
            if (ended or time.monotonic() >= end) and not after:
                os.killpg(process.pid, signal.SIGKILL)  # not reaped yet, so the group is its own for sure
                after = 1
            if not select.select([pipe], [], [], 0 if after else 0.05)[0]:
                if after:
                    break
                continue
            data = os.read(pipe.fileno(), 1 << 16)
            # What left the group may hold the pipe open for ever: a little more is read, not its end.
            after += bool(after)
            if not data:
                if after:
                    break
                time.sleep(0.02)  # it closed its output and goes on
            taken = data[: max(0, KEPT - len(head))]
            head += taken
            tail += data[len(taken) :]
            left_out += max(0, len(tail) - KEPT)
            del tail[:-KEPT]
        code = process.wait()
    middle = b"\n... %d bytes left out ...\n" % left_out if left_out else b""
    return code if ended else None, (bytes(head) + middle + bytes(tail)).decode("utf-8", "replace")


def _checked(said: Description | None) -> Description:
    """The description. Raises ValueError that names the key of one that is wrong."""
    if said is None:
        raise ValueError("the call has no description of a compiler")
    for key in ("command", "artefact", "precisions"):
        if not getattr(said, key):
            raise ValueError("%s: %s is empty" % (said.path, key))
    for row in said.errors:
        if row.symptom not in SYMPTOMS:
            raise ValueError("%s: errors need a symptom that is one of %s" % (said.path, ", ".join(SYMPTOMS)))
    if said.runner is not None and not said.runner.command:
        raise ValueError("%s: runner.command is empty" % said.path)
    return said
