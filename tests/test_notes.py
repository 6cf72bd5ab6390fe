"""Notes on the terminal: those of other threads wait for the main thread, so that no capture takes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.project import kept_environment

CONFTEST = """
import threading
import pytest
from bench_plugin.notes import Notes

def pytest_runtest_logreport(report):
    if report.when == "call":
        config.pluginmanager.get_plugin("terminalreporter").write_line("between")
        notes.flush()

def pytest_sessionstart(session):
    global notes, config
    config = session.config
    notes = Notes(config)

@pytest.fixture
def note_of_another_thread():
    thread = threading.Thread(target=notes, args=("of a thread",))
    thread.start()
    thread.join()
"""
CLEARING = """
from bench_plugin.notes import Notes

def pytest_collection_finish(session):
    notes = Notes(session.config)
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    notes.before = lambda: reporter.write_line("cleared")
    notes("of the main thread")
"""


def printed(folder: Path, conftest: str, test: str) -> str:
    """What a run of pytest prints whose ``conftest.py`` and only test are given."""
    (folder / "conftest.py").write_text(conftest)
    (folder / "test_it.py").write_text(test)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    finished = subprocess.run(
        command, cwd=folder, env=kept_environment(), capture_output=True, text=True, timeout=120, check=True
    )
    return finished.stdout


def test_a_note_of_another_thread_is_written_when_the_main_thread_flushes(tmp_path: Path) -> None:
    text = printed(tmp_path, CONFTEST, "def test_one(note_of_another_thread): pass")

    assert text.count("bench: of a thread\n") == 1, text
    assert text.index("between\n") < text.index("bench: of a thread\n")


def test_what_stands_in_the_way_is_taken_away_before_a_note(tmp_path: Path) -> None:
    text = printed(tmp_path, CLEARING, "def test_one(): pass")

    assert "cleared\nbench: of the main thread\n" in text
