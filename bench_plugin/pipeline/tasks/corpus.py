"""ONNX's backend tests with their models, data and float64 truths: made once by an agent, read case by case."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.agent import packs
from bench_plugin.compare.operator_rules import Rule, Tensor, Truth, Value, rule_of
from bench_plugin.domain.outcome import Failure, Stage
from bench_plugin.pipeline.stages import CallSpec, Done, Stages, Task, failure_of
from bench_plugin.reach.processes.client import AgentFailure, Limits

if TYPE_CHECKING:
    import numpy as np

GIB = 2**30
COLLECTING = Limits(seconds=900.0, memory_bytes=6 * GIB)
CORPUS, TRUTHS = "onnx_corpus", "onnx_truths"
NETWORKS = "light"  # a category whose truths take minutes: they are made when one of its cases is asked for


class CorpusFailed(Exception):
    """The corpus, or what belongs to it, could not be made; ``failure`` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class CaseData:
    """One case: ``row`` is its description, ``inputs`` by name, as descriptions that ``reader`` reads."""

    name: str
    row: Mapping[str, Any]
    reader: packs.Reader
    rule: Rule
    truths: tuple[Truth, ...]
    no_truth: str

    @property
    def model(self) -> Any:
        """The ONNX file's bytes."""
        return self.reader.bytes(self.row["model"])

    @property
    def inputs(self) -> dict[str, Any]:
        """Descriptions of the inputs, by name."""
        names = [port["name"] for port in self.row["inputs"]]
        return dict(zip(names, self.row["sets"][0][0], strict=False))

    @property
    def expected(self) -> list[Value]:
        """What the test holds as its outputs."""
        return [comparable(self.reader, description) for description in self.row["sets"][0][1]]


class Pack:
    """An index and the bytes that it speaks of, from two files."""

    def __init__(self, index: Path, data: Path) -> None:
        self.rows: Mapping[str, Any] = json.loads(index.read_bytes())
        with data.open("rb") as file:
            empty = not data.stat().st_size
            self.reader = packs.Reader(
                b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), codes=True
            )


class Corpus:
    """Every case as it stands, or rewritten to an older opset."""

    def __init__(self, stages: Stages) -> None:
        self._stages = stages
        self._packs: dict[Any, Pack] = {}
        self._converted: dict[tuple[int, int], Done] = {}
        self._evaluations: dict[tuple[str, bool], Done] = {}
        self._failures: dict[Any, Failure] = {}

    @cached_property
    def collected(self) -> Done:
        """The stage that made the corpus. Raises CorpusFailed."""
        call = CallSpec("collect", {})
        return self._made(Task(Stage.BUILD, CORPUS, (call,), {}, COLLECTING, refreshed=False))

    @property
    def key(self) -> str:
        """The recipe of the corpus."""
        return self.collected.key

    @property
    def rows(self) -> Mapping[str, Any]:
        """The description of every case, by name."""
        return self._pack(self.collected, "cases").rows

    def case(self, name: str) -> CaseData:
        """A case as onnx has it."""
        return self._case(name, self.collected)

    def converted(self, name: str, opset: int, ir: int) -> CaseData | str:
        """A case rewritten for a backend that takes at most this opset and IR, or why it cannot be."""
        place = (opset, ir)
        if place not in self._converted:
            rows = self._pack(self.collected, "cases").rows
            skewed = [one for one, row in rows.items() if newer(row, opset, ir)]
            call = CallSpec("convert", {"opset": opset, "ir": ir, "cases": skewed})
            parts = {"corpus": self.key}
            task = Task(Stage.BUILD, CORPUS, (call,), parts, COLLECTING, self.collected.files, refreshed=False)
            self._converted[place] = self._made(task)
        done = self._converted[place]
        row = self._pack(done, "cases").rows[name]
        return str(row["error"]) if "error" in row else self._case(name, done)

    def _case(self, name: str, done: Done) -> CaseData:
        pack = self._pack(done, "cases")
        row = pack.rows[name]
        rule = _rule(row)
        truths, missing = self._truths(name, row, done) if rule.need else ((), "")
        return CaseData(name, row, pack.reader, rule, truths, missing)

    def _truths(self, name: str, row: Mapping[str, Any], done: Done) -> tuple[tuple[Truth, ...], str]:
        pack = self._pack(self._evaluated(done, row["category"] == NETWORKS), "truths")
        found = pack.rows[name]
        if "error" in found:
            return (), str(found["error"])
        count = len(found["outputs"])
        sums, spread = found.get("sums", [None] * count), found.get("spread", [None] * count)
        reader = pack.reader
        return tuple(
            Truth(_array(reader, value), _array(reader, total), reach)
            for value, total, reach in zip(found["outputs"], sums, spread, strict=True)
        ), ""

    def _evaluated(self, done: Done, networks: bool) -> Done:
        key = (done.key, networks)
        if key not in self._evaluations:
            needs = {}
            for name, row in self._pack(done, "cases").rows.items():
                if "error" not in row and (row["category"] == NETWORKS) is networks:
                    needs[name] = _rule(row).need
            needs = {name: need for name, need in needs.items() if need}
            call = CallSpec("evaluate", {"needs": needs})
            task = Task(Stage.REFERENCE, TRUTHS, (call,), {"corpus": done.key}, COLLECTING, done.files, refreshed=False)
            self._evaluations[key] = self._made(task)
        return self._evaluations[key]

    def _pack(self, done: Done, name: str) -> Pack:
        if (done.key, name) not in self._packs:
            self._packs[done.key, name] = Pack(done.files[f"{name}.json"], done.files[f"{name}.bin"])
        return self._packs[done.key, name]

    def _made(self, task: Task) -> Done:
        key = (task.adapter, task.calls[0].operation, str(task.calls[0].meta))
        if key not in self._failures:  # thousands of cases ask again: a failure is told anew, never raised on and on
            try:
                done = self._stages.obtain(task)
            except AgentFailure as error:
                self._failures[key] = failure_of(error, task.stage)
            else:
                if done.failure is None:
                    return done
                self._failures[key] = done.failure
        raise CorpusFailed(self._failures[key])


def _rule(row: Mapping[str, Any]) -> Rule:
    return rule_of(row["operators"], row["nodes"], len(row["inputs"]))


def newer(row: Mapping[str, Any], opset: int, ir: int) -> bool:
    """Whether a case needs a newer opset of the default domain or a newer IR than these; 0 stands for any."""
    return bool(0 < opset < row["opsets"].get("ai.onnx", 0) or 0 < ir < row["ir"])


def comparable(reader: packs.Reader, description: Any) -> Value:
    """A stored value as comparisons take it."""
    return tensors(reader.value(description), description)


def tensors(value: Any, description: Any) -> Value:
    """Arrays with the names of their types; bfloat16 widened."""
    if description is None:
        return None
    if isinstance(description, list):
        return [tensors(one, other) for one, other in zip(value, description, strict=True)]
    return Tensor(description["d"], widened(value, description["d"]))


def widened(values: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """bfloat16 as float32, everything else as it is."""
    import numpy as np

    if dtype != "bfloat16":
        return values
    found: np.ndarray[Any, Any] = (values.astype(np.uint32) << 16).view(np.float32)
    return found


def _array(reader: packs.Reader, description: Any) -> Any:
    return None if description is None else reader.value(description)


def given_arrays(data: CaseData) -> tuple[dict[str, Any], dict[str, Any]]:
    """A case's inputs for a call: plain arrays, and what ``meta["values"]`` says of the others."""
    arrays: dict[str, Any] = {}
    described: dict[str, Any] = {}
    for name, description in data.inputs.items():
        if not packs.kinds(description):
            arrays[f"in:{name}"] = data.reader.value(description)
            continue
        described[name] = _sent(data.reader, description, arrays)
    return arrays, described


def _sent(reader: packs.Reader, description: Any, arrays: dict[str, Any]) -> Any:
    """Put the bytes of a value among the arrays; returns its description with the numbers of their blobs."""
    import numpy as np

    if description is None:
        return None
    if isinstance(description, list):
        return [_sent(reader, item, arrays) for item in description]
    number = sum(name.startswith(packs.VALUE) for name in arrays)
    arrays[f"{packs.VALUE}{number}"] = np.frombuffer(reader.bytes(description), dtype=np.uint8)
    return {"d": description["d"], "s": description["s"], "o": number}


def needed_kinds(data: CaseData) -> Sequence[str]:
    """What a backend's adapter must take to be handed this case's inputs and give its outputs."""
    inputs, outputs = data.row["sets"][0]
    return sorted({kind for value in (*inputs, *outputs) for kind in packs.kinds(value)})
