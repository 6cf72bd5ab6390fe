"""Files of boards and targets: every wrong value is named with its line, and figures of hardware have a source."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import bench_plugin.reach.boards as kinds
from bench_plugin.domain.errors import UsageError
from bench_plugin.inventory.hardware.board_file import read_board, read_reach
from bench_plugin.inventory.hardware.figures import FIGURES
from bench_plugin.inventory.hardware.target_file import for_tools, read_target
from bench_plugin.reach.boards import registry
from tests.fake.far import HERE

ROOT = Path(__file__).parents[2]
TARGETS = ("aarch64", "cortex-m3")
ISSUE = """\
target = "aarch64"
reach  = { kind = "wired", host = "pi4.lab", socket = "pi4.socket" }
power  = { kind = "hwmon", path = "/sys/class/hwmon/hwmon2/power1_input" }
restart = ["ssh", "pi4.lab", "sudo", "reboot"]
power_cycle = ["uhubctl", "-a", "cycle", "-p", "2"]
lease_seconds = 60
flash_bytes = 512_000
[modes]
performance = ["cpufreq-set", "-g", "performance"]
"""


@pytest.fixture(autouse=True)
def wired(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests' own kind of reach."""
    monkeypatch.setitem(registry.MODULES, "wired", "wired")
    monkeypatch.setattr(kinds, "__path__", [*kinds.__path__, str(HERE / "boards")])


def board(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "pi4.toml"
    path.write_text(text)
    return path


def test_a_whole_description(tmp_path: Path) -> None:
    found = read_board(board(tmp_path, ISSUE), TARGETS)
    assert (found.name, found.target, found.kind) == ("pi4", "aarch64", "wired")
    assert found.settings == {
        "host": "pi4.lab", "socket": str(tmp_path / "pi4.socket"), "port": 1, "programs": False, "lacks": "",
    }  # fmt: skip
    assert found.power == {"kind": "hwmon", "path": "/sys/class/hwmon/hwmon2/power1_input"}
    assert found.modes == {"performance": ("cpufreq-set", "-g", "performance")}
    assert found.restart[0] == "ssh" and found.power_cycle[-1] == "2"
    assert (found.lease_seconds, found.boot_seconds, found.flash_bytes) == (60, 60, 512_000)
    assert not found.same_machine and not found.emulated


def replaced(key: str, line: str) -> Callable[[str], str]:
    return lambda text: "".join(line + "\n" if one.startswith(key) else one + "\n" for one in text.splitlines())


WRONG: dict[str, tuple[str, str, str]] = {
    "no target": ("target", 'target = "aarch46"', "pi4.toml:1: target: there is no target 'aarch46'; valid are"),
    "no kind": ("reach", 'reach = { host = "a" }', "pi4.toml:2: reach.kind: missing; valid are: "),
    "a kind that is none": ("reach", 'reach = { kind = "wird" }', "pi4.toml:2: reach.kind: it is 'wird'; valid are: "),
    "a key of another kind": (
        "reach", 'reach = { kind = "wired", host = "a", sockett = "b" }',
        "pi4.toml:2: reach.sockett: unknown key; did you mean socket? valid keys are host, lacks, port",
    ),
    "a key that is missing": (
        "reach", 'reach = { kind = "wired", host = "a" }', "pi4.toml:2: reach.socket: missing",
    ),
    "a wrong value": (
        "reach", 'reach = { kind = "wired", host = "a", socket = "b", port = 0 }', "pi4.toml:2: reach.port: ",
    ),
    "a file outside": (
        "reach", 'reach = { kind = "wired", host = "a", socket = "../b" }',
        "pi4.toml:2: reach.socket: '../b' leads out of the folder of this file; if that is meant,",
    ),
    "another sensor": (
        "power ", 'power = { kind = "hwmom", path = "/x" }', "pi4.toml:3: power.kind: 'hwmom' is not valid; valid are",
    ),
    "a shell string": ("restart", 'restart = "reboot now"', "pi4.toml:4: restart: expected a list, found 'reboot now'"),
    "a mode in shell": ("performance", 'performance = "cpufreq-set"', "pi4.toml:9: modes.performance: expected a list"),
    "an unknown key": ("lease_seconds", "leese_seconds = 5", "pi4.toml:6: leese_seconds: unknown key; did you mean"),
    "no time": ("lease_seconds", "lease_seconds = 0", "pi4.toml:6: lease_seconds: expected a number > 0.0, found 0"),
    "not this machine": (
        "lease_seconds", "same_machine = true", "pi4.toml:6: same_machine: it is true, but reach.host is not",
    ),
    "another name": ("lease_seconds", 'name = "pi5"', "pi4.toml:6: name: it is 'pi5'; it must be that of the file"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_named_with_its_line(tmp_path: Path, what: str) -> None:
    key, line, message = WRONG[what]
    path = board(tmp_path, replaced(key, line)(ISSUE))
    with pytest.raises(UsageError) as caught:
        read_reach(path, TARGETS)
    assert message in str(caught.value), caught.value


def test_the_digest_is_of_what_is_said(tmp_path: Path) -> None:
    first = read_board(board(tmp_path, ISSUE), TARGETS).digest
    assert read_board(board(tmp_path, "# a remark\n" + ISSUE), TARGETS).digest == first
    assert read_board(board(tmp_path, ISSUE.replace("512_000", "256_000")), TARGETS).digest != first


FIGURE = 'name = "a"\n[[memories]]\nname = "ram"\nbytes = 4096\n'
WRONG_TARGETS = {
    FIGURE: "a.toml:2: memories[1].source: missing",
    'name = "a"\n[[peaks]]\nsource = "s"\npeak_ops_per_s = { int9 = 1.0 }\n': "peaks[1].peak_ops_per_s",
    'name = "a"\n[[peaks]]\npeak_ops_per_s = { int8 = 1.0 }\n': "a.toml:2: peaks[1].source: missing",
    'name = "a"\n[processor]\nsource = "s"\ncores = [{ name = "A72", clock_mhz = 1500 }]\n': "clock_mhz: unknown key",
    'name = "a"\n[[prices]]\nsource = "s"\nprice_usd = -1\n': "a.toml:4: prices[1].price_usd: ",
}


@pytest.mark.parametrize("text", WRONG_TARGETS)
def test_figures_are_typed_and_have_a_source(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        read_target(tmp_path / "a.toml")
    assert WRONG_TARGETS[text] in str(caught.value), caught.value


def figures(name: str) -> dict[str, Any]:
    return read_target(ROOT / f"boards/targets/{name}.toml")


def test_published_figures_are_there_with_their_source() -> None:
    pi, tx2, dpu = figures("raspberry-pi-4"), figures("jetson-tx2"), figures("zcu102-dpu")
    assert pi["processor"]["cores"] == [{"name": "Cortex-A72", "count": 4, "clock_hz": 1.5e9}]
    assert pi["power"][0]["power_w"] == [2.0, 6.0] and "EC7.4" in pi["prices"][0]["source"]
    assert {one["mode"]: one["peak_ops_per_s"]["fp16"] for one in tx2["peaks"]} == {
        "maxn": 1.33e12, "maxp": 1.15e12, "maxq": 0.87e12,
    }  # fmt: skip
    assert dpu["peaks"][0]["peak_ops_per_s"] == {"int8": 6.71e12} and "Blott" in dpu["peaks"][0]["source"]
    assert dpu["memories"][0]["bandwidth_bytes_per_s"] == 19.2e9
    assert len(list((ROOT / "boards/targets").glob("*.toml"))) >= 30


def test_a_price_changes_no_artefact() -> None:
    assert not set(for_tools(figures("coral"))) & set(FIGURES)


def test_limits_of_a_board_by_ssh_are_checked_with_their_place(tmp_path: Path) -> None:
    said = 'target = "aarch64"\nreach = {{ kind = "ssh", host = "pi4.lab", limits = {} }}\n'
    found = read_board(board(tmp_path, said.format("{ memory = 2048 }")), TARGETS).settings["limits"]
    assert (found.memory, found.cache_bytes) == (2048, 8192 << 20)
    assert found.options() == ["--max-cpu", "21600", "--max-store", "8192", "--max-memory", "2048"]
    for wrong, message in (
        ("{ memory = -1 }", "pi4.toml:2: reach.limits.memory: expected a whole number >= 0, found -1"),
        ("{ memry = 1 }", "pi4.toml:2: reach.limits.memry: unknown key; did you mean memory?"),
        ("{ cache = 0 }", "pi4.toml:2: reach.limits.cache: expected a whole number >= 1, found 0"),
    ):
        with pytest.raises(UsageError, match=re.escape(message)):
            read_board(board(tmp_path, said.format(wrong)), TARGETS)
