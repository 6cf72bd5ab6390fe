"""The corpus: ONNX's backend tests with models, data and float64 references (docs/operators.md)."""

from __future__ import annotations

import json
import mmap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.agent import packs
from bench_plugin.compare.operators.bounds import Truth
from bench_plugin.compare.operators.rules import Rule, rule_of
from bench_plugin.compare.operators.values import Tensor, Value
from bench_plugin.domain.outcome import Failure, Stage
from bench_plugin.inventory import low_bit_cases
from bench_plugin.pipeline.stages import CallSpec, Done, Stages, Task, failure_of
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits

if TYPE_CHECKING:
    import numpy as np

GIB = 2**30
COLLECTING = Limits(seconds=900.0, memory_bytes=6 * GIB)
CORPUS, TRUTHS = "onnx_corpus", "onnx_truths"
FEW_BITS = "low_bits_cases"  # the adapter that makes the cases of few bits
NETWORKS = "light"  # the references of this category take minutes, so they are made only where one is needed


class CorpusFailed(Exception):
    """The corpus, its conversion or its float64 references could not be made; ``failure`` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True)
class CaseData:
    """One case of the corpus: ``row`` is its description, ``reader`` reads the bytes of its model and data.

    ``truths`` are the float64 references of its outputs, where ``rule`` needs them; ``no_truth`` says why there are
    none although it does.
    """

    name: str
    row: Mapping[str, Any]
    reader: packs.Reader
    rule: Rule
    truths: tuple[Truth, ...]
    no_truth: str

    @property
    def model(self) -> Any:
        """The bytes of the ONNX file."""
        return self.reader.bytes(self.row["model"])

    @property
    def inputs(self) -> dict[str, Any]:
        """Descriptions of the inputs by name, which ``reader`` reads."""
        names = [port["name"] for port in self.row["inputs"]]
        return dict(zip(names, self.row["sets"][0][0], strict=False))

    @property
    def expected(self) -> list[Value]:
        """The outputs that the test holds."""
        return [comparable(self.reader, description) for description in self.row["sets"][0][1]]


class Pack:
    """The rows of an index file, and a reader of the data file that they refer to."""

    def __init__(self, index: Path, data: Path) -> None:
        self.rows: Mapping[str, Any] = json.loads(index.read_bytes())
        with data.open("rb") as file:
            empty = not data.stat().st_size
            self.reader = packs.Reader(
                b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), codes=True
            )


def maker_of(name: str) -> str:
    """The adapter that makes the case of this name."""
    return FEW_BITS if name in low_bit_cases.CASES else CORPUS


class Corpus:
    """All cases that one adapter makes, as they are or converted to an older opset: by default those of onnx."""

    def __init__(self, stages: Stages, maker: str = CORPUS) -> None:
        self._stages = stages
        self._maker = maker
        self._packs: dict[Any, Pack] = {}
        self._converted: dict[tuple[int, int], Done] = {}
        self._evaluations: dict[tuple[str, bool], Done] = {}
        self._failures: dict[Any, Failure] = {}

    @cached_property
    def collected(self) -> Done:
        """The stage that made the corpus. Raises CorpusFailed if it could not be made."""
        call = CallSpec("collect", {})
        return self._made(Task(Stage.BUILD, self._maker, (call,), {}, COLLECTING, refreshed=False))

    @property
    def key(self) -> str:
        """The recipe of the corpus. Raises CorpusFailed."""
        return self.collected.key

    @property
    def rows(self) -> Mapping[str, Any]:
        """The description of every case by name. Raises CorpusFailed."""
        return self._pack(self.collected, "cases").rows

    def case(self, name: str) -> CaseData:
        """A case as its maker has it. Raises CorpusFailed, and KeyError for an unknown name."""
        return self._case(name, self.collected)

    def converted(self, name: str, opset: int, ir: int) -> CaseData | str:
        """A case converted for a backend that takes at most this opset and IR version, or why it cannot be converted.

        0 stands for no limit. Raises CorpusFailed.
        """
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
            Truth(_array(reader, value), _array(reader, total), reach, int(found.get("terms", 1)))
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
        if key not in self._failures:  # thousands of cases ask again: each gets a new exception, below
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
    """Whether a case needs a newer opset of the default domain or a newer IR version; 0 stands for no limit."""
    return bool(0 < opset < row["opsets"].get("ai.onnx", 0) or 0 < ir < row["ir"])


def comparable(reader: packs.Reader, description: Any) -> Value:
    """A stored value as the comparisons of operators take it: a tensor, a sequence, or None."""
    return tensors(reader.value(description), description)


def tensors(value: Any, description: Any) -> Value:
    """The arrays [...] of a value with the names of their ONNX types; bfloat16 is widened to float32."""
    if description is None:
        return None
    if isinstance(description, list):
        return [tensors(one, other) for one, other in zip(value, description, strict=True)]
    return Tensor(description["d"], widened(value, description["d"]))


def widened(values: np.ndarray[Any, Any], dtype: str) -> np.ndarray[Any, Any]:
    """bfloat16 codes [...], given as unsigned integers, as float32 of the same shape; other types unchanged."""
    import numpy as np

    if dtype != "bfloat16":
        return values
    found: np.ndarray[Any, Any] = (values.astype(np.uint32) << 16).view(np.float32)
    return found


def _array(reader: packs.Reader, description: Any) -> Any:
    return None if description is None else reader.value(description)


def given_arrays(data: CaseData) -> tuple[dict[str, Any], dict[str, Any]]:
    """The inputs of a case for a call: its arrays [...] by name, and the descriptions (``values``) of other inputs.

    Sequences, strings and types that numpy lacks are sent as bytes, arrays of uint8 [bytes], with a description.
    """
    arrays: dict[str, Any] = {}
    described: dict[str, Any] = {}
    for name, description in data.inputs.items():
        if not packs.kinds(description):
            arrays[f"in:{name}"] = data.reader.value(description)
            continue
        described[name] = _sent(data.reader, description, arrays)
    return arrays, described


def _sent(reader: packs.Reader, description: Any, arrays: dict[str, Any]) -> Any:
    """Add the bytes of a value to ``arrays``; returns its description, which refers to them by number."""
    import numpy as np

    if description is None:
        return None
    if isinstance(description, list):
        return [_sent(reader, item, arrays) for item in description]
    number = sum(name.startswith(packs.VALUE) for name in arrays)
    arrays[f"{packs.VALUE}{number}"] = np.frombuffer(reader.bytes(description), dtype=np.uint8)
    return {"d": description["d"], "s": description["s"], "o": number}


def needed_kinds(data: CaseData) -> Sequence[str]:
    """The kinds of values that an adapter must support for the inputs and outputs of this case, sorted."""
    inputs, outputs = data.row["sets"][0]
    return sorted({kind for value in (*inputs, *outputs) for kind in packs.kinds(value)})
