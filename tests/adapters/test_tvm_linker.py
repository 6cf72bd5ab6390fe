"""TVM links with the compiler of the target: one without a C library is not TVM's failure."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.adapters.compilers import tvm
from bench_plugin.agent.adapter import NotProvided
from bench_plugin.agent.contract import Target


@pytest.fixture
def target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Target:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return Target(name="far", architecture="aarch64", gcc="far-gcc", package="gcc-far libc-far")


def compiler(folder: Path, found: str) -> Path:
    """A compiler on PATH that finds files of the C library at ``found``."""
    path = folder / "far-gcc"
    path.write_text(f"#!/bin/sh\necho {found}\n")
    path.chmod(0o755)
    return path


def test_a_compiler_with_its_c_library_links(target: Target, tmp_path: Path) -> None:
    path = compiler(tmp_path, "/usr/far/lib/crti.o")
    assert tvm._linker(target) == str(path)


def test_one_without_a_c_library_is_not_provided_and_names_the_packages(target: Target, tmp_path: Path) -> None:
    path = compiler(tmp_path, "crti.o")  # gcc prints the bare name where it finds none
    with pytest.raises(NotProvided) as raised:
        tvm._linker(target)
    assert str(raised.value) == (
        f"{path} links nothing: the C library of the target has no crti.o here; install gcc-far libc-far"
    )


def test_an_absent_compiler_is_not_provided(target: Target) -> None:
    with pytest.raises(NotProvided, match="far-gcc not found; install gcc-far libc-far"):
        tvm._linker(target)


def test_the_compiler_of_this_machine_links() -> None:
    assert tvm._linker(Target(name="local", architecture="x86_64")).endswith("/gcc")
