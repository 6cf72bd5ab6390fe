"""What is kept of an agent's message and of the log of one that crashed: the cause, wherever it stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.domain.outcome import Failure, Stage, Symptom
from bench_plugin.reach.processes.agent_log import BEFORE, QUOTED_LINES, last_words, quoted
from bench_plugin.reach.processes.leased_agent import MESSAGE, AgentFailure

FRAMES = [f'  File "/env/lib/python3.11/site-packages/tool/deep.py", line {place} in f{place}' for place in range(90)]
CRASH = ["Fatal Python error: Segmentation fault", "", "Current thread 0x0 (most recent call first):", *FRAMES]


def test_the_top_frame_of_a_deep_stack_is_quoted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join([*(f"printed {place}" for place in range(50)), *CRASH, "", "Extension modules: a"]))
    lines = quoted(log).splitlines()
    assert len(lines) == QUOTED_LINES
    assert lines[BEFORE - 1 : BEFORE + 4] == ["printed 49", *CRASH[:4]]


def test_of_other_logs_the_end_is_quoted(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join(f"printed {place}" for place in range(50)))
    assert quoted(log).splitlines() == [f"printed {place}" for place in range(50 - QUOTED_LINES, 50)]
    log.write_text("\n".join([*CRASH[:5], "after it"]))
    assert quoted(log).splitlines()[-1] == "after it", "a short report is quoted with all that follows"


PANIC = ["thread '<unnamed>' panicked at src/pad.rs:3:5:", "could not broadcast array", "note: run with a backtrace"]
SECOND = [
    "",
    "thread '<unnamed>' (17) panicked at library/panicking.rs:218:5:",
    "panic in a function that cannot unwind",
]


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ([*PANIC, *SECOND, "thread caused non-unwinding panic. aborting."], "could not broadcast array"),
        (["terminate called after throwing an instance of 'std::out_of_range'", "  what():  map::at"], "map::at"),
        (["double free or corruption (!prev)"], "double free or corruption (!prev)"),
        (["x.cpp:7: int f(): Assertion `rank > 0' failed."], "x.cpp:7: int f(): Assertion `rank > 0' failed."),
        (["F0101 core.cc:9] Check x == y failed: 1 vs 2"], "F0101 core.cc:9] Check x == y failed: 1 vs 2"),
        (["loading the model"], ""),
    ],
)
def test_what_an_aborted_process_said_last_is_found(tmp_path: Path, printed: list[str], words: str) -> None:
    log = tmp_path / "log"
    before = "what():  of a call before\n"
    log.write_text(before + "\n".join([*printed, *["backtrace"] * QUOTED_LINES, *CRASH]))
    assert last_words(log, len(before)) == words
    log.write_text(before + "\n".join(printed))
    assert last_words(log, len(before)) == words, "a process without faulthandler says it, too"


def test_a_log_that_is_gone_says_nothing(tmp_path: Path) -> None:
    assert last_words(tmp_path / "log", 0) == quoted(tmp_path / "log") == ""


def test_a_message_is_its_first_useful_line_and_keeps_a_cause_that_stands_late() -> None:
    text = f"Traceback (most recent call last):\nFail: Load model from {'/long' * 80} failed: no Foo\nmore"
    assert AgentFailure("exception", text).message.endswith("failed: no Foo")
    assert len(AgentFailure("exception", "x" * 5000).message) == MESSAGE


def test_two_attempts_have_one_signature_whatever_their_folders_are_called() -> None:
    def signature(folder: str, kind: str = "Foo") -> object:
        text = f"no kernel of {kind} for float8_e4m3fn in {folder}/tmpab12cd34/model.onnx at 0x7f12"
        return Failure(Stage.COMPILE, Symptom.EXCEPTION, text).signature

    assert signature("/tmp/a") == signature("/root/.cache/scratch")
    assert signature("/tmp/a") != signature("/tmp/a", "Bar")
