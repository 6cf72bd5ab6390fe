"""Making an environment: once, shared, whole or not at all, with a message that says what is wrong."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench_plugin.domain.errors import EnvironmentMissing, UsageError
from bench_plugin.reach.environments.toolchains import Toolchains
from bench_plugin.reach.environments.uv import LOST_FILES, uv_binary

from .conftest import Workshop

ENSURE = """
import sys
from pathlib import Path
from bench_plugin.reach.environments.toolchains import Toolchains
print(Toolchains([Path(sys.argv[1])]).ensure("gadgets", progress=lambda text: print(text, flush=True)))
"""


def answer(python: Path) -> str:
    return subprocess.run([python, "-c", "import gadget; print(gadget.ANSWER)"], capture_output=True, text=True).stdout


def test_is_made_on_first_use_and_found_afterwards(workshop: Workshop) -> None:
    workshop.toolchain()
    said: list[str] = []
    python = workshop.open().ensure("gadgets", progress=said.append)
    assert answer(python) == "42\n"
    assert [line.split(" (")[0].split(" after")[0] for line in said] == [
        "making toolchain gadgets",
        "toolchain gadgets is ready",
    ]
    started = time.monotonic()
    assert workshop.open().ensure("gadgets", progress=said.append) == python
    assert len(said) == 2 and time.monotonic() - started < 1


def test_another_lock_is_another_environment(workshop: Workshop) -> None:
    workshop.toolchain()
    first = workshop.open().ensure("gadgets")
    workshop.toolchain(lock=f"# as before\n{workshop.pin()}")
    second = workshop.open().ensure("gadgets")
    assert first != second and first.exists() and second.exists()


def test_users_folder_comes_before_the_plugins_own(workshop: Workshop) -> None:
    assert workshop.open()["onnxruntime"].title != "Gadgets"
    workshop.toolchain("onnxruntime")
    assert workshop.open()["onnxruntime"].title == "Gadgets"
    assert workshop.open().locked_versions("onnxruntime") == {"gadget": "1.0"}


def test_two_runs_at_once_share_one_environment(workshop: Workshop) -> None:
    workshop.toolchain()
    command = [sys.executable, "-c", ENSURE, str(workshop.files)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    outputs = [run.communicate(timeout=60)[0] for run in runs]
    assert "".join(outputs).count("making toolchain") == 1
    assert len({output.splitlines()[-1] for output in outputs}) == 1
    assert len(workshop.made()) == 1


def test_a_killed_making_counts_for_nothing(workshop: Workshop) -> None:
    workshop.toolchain()
    folder = workshop.open().folder("gadgets")
    (folder.parent / f".making-{folder.name}-killed" / "environment" / "bin").mkdir(parents=True)
    assert answer(workshop.open().ensure("gadgets")) == "42\n"
    assert workshop.made() == [folder.name]


def test_an_environment_whose_interpreter_went_away_is_made_again(workshop: Workshop) -> None:
    workshop.toolchain()
    python = workshop.open().ensure("gadgets")
    python.unlink()
    python.symlink_to("/nonexistent/python3")
    assert answer(workshop.open().ensure("gadgets")) == "42\n"


def test_a_hash_that_differs_is_an_error_and_leaves_nothing(workshop: Workshop) -> None:
    workshop.toolchain(lock=f"gadget==1.0 \\\n    --hash=sha256:{'0' * 64}\n")
    with pytest.raises(EnvironmentMissing, match="toolchain gadgets cannot be made: .*[Hh]ash"):
        workshop.open().ensure("gadgets")
    assert workshop.made() == []


def test_a_cache_of_uv_that_lost_files_says_how_to_clean_it(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")  # at which uv would wrap its message
    workshop.toolchain()
    shutil.rmtree(workshop.open().ensure("gadgets").parents[1])
    [unpacked] = (tmp_path / "uv").glob("archive-v*")
    shutil.rmtree(unpacked)
    with pytest.raises(EnvironmentMissing, match=f"failed to read directory .*{LOST_FILES}$"):
        workshop.open().ensure("gadgets")
    subprocess.run([uv_binary(), "cache", "clean", "--quiet"], check=True)
    assert answer(workshop.open().ensure("gadgets")) == "42\n"


def test_a_pin_without_a_hash_is_refused(workshop: Workshop) -> None:
    workshop.toolchain(lock="gadget==1.0\n")
    with pytest.raises(EnvironmentMissing, match="[Hh]ash"):
        workshop.open().ensure("gadgets")


@pytest.mark.parametrize(
    ("lock", "message"),
    [
        (
            "gadget==1.0\nnvidia-cublas==13.0 \\\n    --hash=sha256:00\n",
            r"gadgets.lock:2: nvidia-cublas==13.0: .*\+cpu",
        ),
        ("--index-url https://example.org/simple\ngadget==1.0\n", "gadgets.lock:1: a lock names no place"),
        ("gadget @ https://example.org/gadget.whl\n", "gadgets.lock:1: a lock names no place"),
        ("gadget==1.0\nnvidia-cublas==1\n", "gadgets.lock:2: nvidia-cublas==1: no toolchain may hold nvidia packages"),
        ("gadget==2.0\n", "asks for gadget==1.0, the lock has gadget==2.0; make it again: bench env lock gadgets"),
        ("", "the lock has no gadget"),
    ],
)
def test_a_lock_that_may_not_be(workshop: Workshop, lock: str, message: str) -> None:
    workshop.toolchain(lock=lock)
    with pytest.raises(UsageError, match=message):
        workshop.open().ensure("gadgets")


def test_registry_off_says_what_could_not_be_reached(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop.toolchain()
    for name in ("PIP_NO_INDEX", "UV_FIND_LINKS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    with pytest.raises(EnvironmentMissing, match=r"cannot be made: .*127\.0\.0\.1:9.*\(.*[Cc]onnect") as caught:
        workshop.open().ensure("gadgets")
    assert caught.value.exit_code == 4 and "\n" not in str(caught.value)
    assert workshop.made() == []


def test_interpreter_missing_says_how_to_get_it(workshop: Workshop) -> None:
    workshop.toolchain(extra='interpreter = ">=3.99,<4"')
    with pytest.raises(EnvironmentMissing, match="needs Python >=3.99,<4, which is not on.*uv python install 3.99"):
        workshop.open().ensure("gadgets")


def test_system_tool_missing(workshop: Workshop) -> None:
    workshop.toolchain(extra='tools = ["sh", "no-such-compiler"]')
    with pytest.raises(EnvironmentMissing, match="needs no-such-compiler on the PATH"):
        workshop.open().ensure("gadgets")


def test_cache_that_cannot_be_written(workshop: Workshop) -> None:
    workshop.toolchain()
    workshop.cache.write_text("a file in the way")
    with pytest.raises(EnvironmentMissing, match="cannot be made in .*cache/toolchains: "):
        workshop.open().ensure("gadgets")


def test_pips_find_links_serve_where_uv_was_told_nothing(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    workshop.toolchain()
    monkeypatch.delenv("UV_FIND_LINKS")
    with pytest.raises(EnvironmentMissing):
        workshop.open().ensure("gadgets")
    config = workshop.files / "pip.conf"
    config.write_text(f"[global]\nfind-links =\n    {workshop.wheels}\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    assert answer(workshop.open().ensure("gadgets")) == "42\n"


def test_torch_without_a_wheel_folder_is_asked_of_uvs_cpu_backend(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = f"torch==1.0+cpu \\\n    --hash=sha256:{'0' * 64}\n{workshop.pin()}"
    workshop.toolchain(lock=lock)
    for name in ("PIP_NO_INDEX", "UV_FIND_LINKS"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("UV_OFFLINE", "1")
    with pytest.raises(EnvironmentMissing, match=r"cannot be made: .*torch") as caught:
        workshop.open().ensure("gadgets")
    assert "gadget " not in str(caught.value), "the rest of the lock is not asked of that backend"
    assert workshop.made() == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "not a TOML file"),
        ('title = "x"\ninterpreter = ">=3.11"', "requirements is missing"),
        ('title = "x"\ninterpreter = "3.11"\nrequirements = []', "interpreter must be a version range"),
        ('colour = 1\ntitle = "x"', "wrong.toml:1: colour: unknown key; valid keys are boards, interpreter"),
        ("title = 1", "wrong.toml:1: title: expected a text, found 1"),
    ],
)
def test_a_toml_that_may_not_be(workshop: Workshop, text: str, message: str) -> None:
    (workshop.files / "wrong.toml").write_text(text)
    with pytest.raises(UsageError, match=message):
        workshop.open()


def test_unknown_name_and_folder(workshop: Workshop) -> None:
    with pytest.raises(UsageError, match="no toolchain 'gadget'; valid are datasets, detection, .*, tensorflow"):
        workshop.open().lock_hash("gadget")
    with pytest.raises(UsageError, match="does not exist"):
        Toolchains([workshop.files / "nowhere"])


@pytest.mark.parametrize("name", ["mxnet", "onnxruntime", "pytorch", "tensorflow"])
def test_committed_locks_are_hashed_and_name_no_place(name: str) -> None:
    toolchain = Toolchains()[name]
    toolchain.check_lock()
    starts = [line for line in toolchain.lock_text.splitlines() if not line.startswith(" ")]
    assert len(starts) == len(toolchain.locked_versions)
    assert all(line.endswith("\\") for line in starts), "every pin is followed by its hashes"
    assert toolchain.lock_text.count(os.sep) == 0
