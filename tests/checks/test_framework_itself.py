"""The framework itself as a compiler, with a real framework: what its row says of sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains
from tests.project import rows_of_suites


def test_the_framework_itself_takes_other_sizes_than_those_it_was_built_for(tmp_path: Path) -> None:
    if not Toolchains().folder("pytorch").is_dir():
        pytest.skip("the toolchain pytorch is not made: bench env sync pytorch")
    found = rows_of_suites(
        tmp_path, "suites/equivalence", "--models=lstm", "--compilers=native", "--precisions=fp32",
        "--frameworks=pytorch", "--targets=local",
    )  # fmt: skip
    assert [(row["status"], row["numbers"]["dynamic"]) for row in found] == [("supported", "preserved")]
