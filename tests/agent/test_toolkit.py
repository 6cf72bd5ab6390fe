"""What adapters share: runs, feeds, versions, programs; and the Python that the agent is written for."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.agent.adapter import NotProvided
from bench_plugin.agent.arrays import from_numpy, to_numpy
from bench_plugin.agent.contract import Place, RunCall
from bench_plugin.agent.toolkit import programs, samples, versions

AGENT = Path(__file__).parents[2] / "bench_plugin" / "agent"
X = np.arange(6, dtype=np.float32).reshape(3, 2)


def running(inputs: dict[str, Any], **fields: Any) -> RunCall:
    arrays = {f"in:{name}": from_numpy(values) for name, values in inputs.items()}
    return RunCall(**fields).at(Place("", {}, arrays, lambda stage: None))


@pytest.mark.parametrize(
    ("fields", "shapes"),
    [
        ({"batched": True}, [(1, 2)] * 3),  # rows of a batch, one at a time
        ({"batched": False}, [(2,)] * 3),
        ({"once": True}, [(3, 2)]),  # as they are
    ],
)
def test_a_run_is_sample_by_sample_or_once(fields: dict[str, Any], shapes: list[tuple[int, ...]]) -> None:
    seen = []

    def run(xs: list[Any]) -> list[Any]:
        seen.append(xs[0].shape)
        return [xs[0] + 1, xs[0].sum(axis=-1)]

    call = running({"x": X}, **fields)
    reply = samples.answered(call, run, list(call.inputs.values()), {"shims": ["a"]})
    assert seen == shapes and reply.meta == {"shims": ["a"]} and list(reply.arrays) == ["out0", "out1"]
    assert (to_numpy(reply.arrays["out0"]) == X + 1).all()
    assert (to_numpy(reply.arrays["out1"]) == X.sum(axis=-1)).all()


def test_what_takes_nothing_is_run_once() -> None:
    reply = samples.answered(running({}, batched=True), lambda xs: [np.ones(2)], [])
    assert to_numpy(reply.arrays["out0"]).tolist() == [1, 1]


def test_outputs_of_varying_length_come_with_their_lengths() -> None:
    call = running({"x": X}, ragged=True)
    reply = samples.answered(call, lambda xs: [np.ones(int(xs[0][0]))], [X])
    assert to_numpy(reply.arrays["out0#rows"]).tolist() == [0, 2, 4]


def test_outputs_that_are_no_plain_tensors_are_described() -> None:
    reply = samples.answered(running({"x": X}, once=True), lambda xs: [[xs[0], xs[0]], None], [X])
    assert reply.meta["values"] == [
        [{"d": "float32", "s": [3, 2], "o": 0}, {"d": "float32", "s": [3, 2], "o": 1}],
        None,
    ]


def test_feeds_are_samples_by_name() -> None:
    feeds = list(samples.feeds({"a": X, "b": X + 1}, batched=True))
    assert len(feeds) == 3 and feeds[1]["b"].tolist() == [[3, 4]]
    assert next(samples.feeds({"a": X}, batched=False))["a"].tolist() == [0, 1]
    assert not list(samples.feeds({}, batched=True))


def test_the_precision_of_outputs_is_said_where_it_is_one() -> None:
    assert samples.computed_in({"float32", "int64"}) == "fp32"
    assert samples.computed_in({"bfloat16"}) == "bf16"
    assert samples.computed_in({"float32", "bfloat16"}) == samples.computed_in({"int64"}) == ""


def test_versions_of_what_is_installed() -> None:
    assert versions.installed("numpy") == {"numpy": np.__version__}
    assert list(versions.found("numpy", "no-such-distribution")) == ["numpy"]
    with pytest.raises(ImportError):
        versions.installed("no-such-distribution")


def test_a_program_runs_in_its_folder_and_what_it_prints_is_one_text(tmp_path: Path) -> None:
    text = (
        "import os, sys; print(os.getcwd(), os.environ['TMPDIR'], os.environ['LC_ALL'], os.environ['WORD'], flush=True)"
    )
    done = programs.run([sys.executable, "-c", text + "; sys.exit('no')"], str(tmp_path), {"WORD": "x"})
    assert done.status == 1
    assert done.text.split() == [str(tmp_path), str(tmp_path), "C", "x", "no"]
    assert programs.run([sys.executable, "-c", "import os; os.abort()"]).status < 0


def test_an_absent_program_is_not_provided_and_names_the_package() -> None:
    assert os.path.isabs(programs.executable("no-such-program", "", "sh"))
    with pytest.raises(NotProvided, match="^no-such-gcc not found; install gcc-9 libc-dev$"):
        programs.executable("no-such-gcc", "gcc-9 libc-dev")


@pytest.mark.parametrize("path", sorted(AGENT.rglob("*.py")), ids=lambda path: str(path.relative_to(AGENT)))
def test_the_agent_is_python_3_8(path: Path) -> None:
    """Its syntax; and records' types, which are evaluated there: no ``int | str`` and no ``dict[str, int]``."""
    tree = ast.parse(path.read_text("utf-8"), feature_version=(3, 8))
    records = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.decorator_list]
    for field in (node for record in records for node in record.body if isinstance(node, ast.AnnAssign)):
        for part in ast.walk(field.annotation):
            assert not isinstance(part, ast.BinOp), ast.unparse(field)
            assert not (isinstance(part, ast.Name) and part.id in ("dict", "list", "tuple", "set")), ast.unparse(field)
