"""``bench board serve``: this machine as a board of another one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

from bench_plugin.cli.shared.board import serve as board_serve
from bench_plugin.domain.errors import UsageError
from tests.reach.boards.listening import LIMITS, listen

# What `bench board serve` does once cli/setup/board.py has the action.
SERVE = (
    "import argparse; from bench_plugin.cli.shared.board import serve as b; p = argparse.ArgumentParser(); "
    "b.add_arguments(p); raise SystemExit(b.run(p.parse_args()))"
)


def parsed(*options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    board_serve.add_arguments(parser)
    return parser.parse_args(options)


def test_a_served_board_runs_calls_in_the_interpreter_that_was_given(tmp_path: Path) -> None:
    listening = listen(tmp_path, "--python", sys.executable, "--max-idle", "30", command=[sys.executable, "-c", SERVE])
    agent = listening.host()
    assert agent.call("fake", "go", {"seed": 3}, limits=LIMITS).meta["given"] == {"seed": 3}
    agent.close()
    listening.stop()
    assert listening.process.returncode == 0
    assert sorted(path.name for path in listening.folder.iterdir() if path.suffix != ".pyz") == ["call", "store"]


def test_without_a_host_only_this_machine_can_connect() -> None:
    assert parsed().listen.startswith("127.0.0.1:")


def test_its_help_says_what_a_token_grants_and_every_bound(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--help")
    said = " ".join(capsys.readouterr().out.split())
    assert "whoever holds the token can run any code as this user" in said
    for option in ("idle", "call", "frame", "store", "memory", "cpu", "pause"):
        assert f"--max-{option}" in said
    assert "--min-rate" in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "needs --token-file"),
        (["--token-file", "absent"], "the token file absent cannot be read"),
        (["--token-file", "token", "--listen", "nowhere"], "expected HOST:PORT"),
        (["--token-file", "token", "--listen", "127.0.0.1:99999"], "expected HOST:PORT"),
    ],
)
def test_what_is_wrong_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("token").write_bytes(bytes(range(40)))
    with pytest.raises(UsageError, match=message):
        board_serve.run(parsed("--folder", str(tmp_path / "board"), *options))
