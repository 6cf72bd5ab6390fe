"""The memory of a machine, and of the control group of a container, from files as the kernel writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench_plugin.reach.machine_memory import machine_memory

GIB = 2**30
MEMINFO = f"MemTotal:     {16 << 20} kB\nMemFree:       1000 kB\nMemAvailable: {12 << 20} kB\nHugePages_Total:     0\n"
V2 = {"limit": "memory.max", "used": "memory.current", "unused": "inactive_file"}
V1 = {"limit": "memory.limit_in_bytes", "used": "memory.usage_in_bytes", "unused": "total_inactive_file"}


def machine(root: Path, groups: str = "") -> Path:
    """A machine of 16 GiB, of which 12 are available, with the control groups of its process."""
    (root / "proc" / "self").mkdir(parents=True)
    (root / "proc" / "meminfo").write_text(MEMINFO)
    (root / "proc" / "self" / "cgroup").write_text(groups)
    return root


def group(root: Path, path: str, names: dict[str, str], limit: str, used: int, unused: int = 0) -> None:
    """A control group in which ``used`` GiB are in use, ``unused`` of them for files that nobody reads."""
    folder = root / "sys" / "fs" / "cgroup" / path
    folder.mkdir(parents=True, exist_ok=True)
    (folder / names["limit"]).write_text(f"{limit}\n")
    (folder / names["used"]).write_text(f"{used * GIB}\n")
    (folder / "memory.stat").write_text(f"anon 12\n{names['unused']} {unused * GIB}\n")


def test_without_groups_it_is_the_machine(tmp_path: Path) -> None:
    assert machine_memory(machine(tmp_path)) == (16 * GIB, 12 * GIB)


@pytest.mark.parametrize(
    ("names", "line", "mount"), [(V2, "0::/", ""), (V1, "4:cpu,memory:/\n1:cpu:/\n0::/", "memory")], ids=["v2", "v1"]
)
def test_a_container_has_what_its_group_has(tmp_path: Path, names: dict[str, str], line: str, mount: str) -> None:
    root = machine(tmp_path, line)
    group(root, mount, names, str(8 * GIB), used=5, unused=2)
    assert machine_memory(root) == (8 * GIB, 5 * GIB)


def test_the_tightest_of_the_groups_above_counts(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/user.slice/session")
    group(root, "", V2, "max", used=9)
    group(root, "user.slice", V2, str(6 * GIB), used=5)
    group(root, "user.slice/session", V2, str(10 * GIB), used=1)
    assert machine_memory(root) == (6 * GIB, 1 * GIB)


def test_a_limit_beyond_the_machine_and_a_group_beyond_its_limit(tmp_path: Path) -> None:
    root = machine(tmp_path, "0::/large")
    group(root, "large", V2, str(1 << 62), used=1)
    assert machine_memory(root) == (16 * GIB, 12 * GIB)
    group(root, "large", V2, str(2 * GIB), used=3)
    assert machine_memory(root) == (2 * GIB, 0)


def test_without_a_kernel_that_says_so_four_gibibytes_are_planned_with(tmp_path: Path) -> None:
    assert machine_memory(tmp_path) == (4 * GIB, 4 * GIB)
