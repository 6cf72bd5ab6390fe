"""What is kept of an agent's message and of the log of one that crashed: the cause, wherever it stands."""

from __future__ import annotations

from pathlib import Path

from bench_plugin.domain.outcome import Failure, Stage, Symptom
from bench_plugin.reach.processes.agent_log import BEFORE, QUOTED_LINES, quoted
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
