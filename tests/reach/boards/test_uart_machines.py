"""Firmware on emulated microcontrollers: numbers, exact counts, the stack, and faults that say where they were."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_plugin.reach.boards import qemu_arm
from bench_plugin.reach.processes.leased_agent import AgentFailure, Limits
from tests.reach.boards.firmware import Firmware, board, built, leased, run

X = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 1, 4)
needs_qemu = pytest.mark.skipif(
    shutil.which(qemu_arm.PROGRAM) is None, reason=f"{qemu_arm.PROGRAM} not found; install {qemu_arm.PACKAGE}"
)
MACHINES = [
    pytest.param("unicorn", "cortex-m3"), pytest.param("mps2-an385", "cortex-m3", marks=needs_qemu),
    pytest.param("mps3-an547", "cortex-m55", marks=needs_qemu),
]  # fmt: skip


@pytest.fixture(scope="module")
def firmwares(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Firmware]:
    """The firmware of the small model for both targets."""
    folder = tmp_path_factory.mktemp("firmware")
    return {target: built(folder / target, target) for target in ("cortex-m3", "cortex-m55")}


@pytest.mark.parametrize(("machine", "target"), MACHINES)
def test_numbers_are_right_and_counts_are_exact(
    machine: str, target: str, firmwares: dict[str, Firmware], tmp_path: Path
) -> None:
    counted = []
    for number in (1, 2):
        with leased(tmp_path / str(number), board(machine=machine)) as agent:
            answer = run(agent, firmwares[target], X)
            assert np.allclose(answer.arrays["out0"], np.tanh(X) * 3 + 1, rtol=0, atol=1e-6)
            counted.append(answer.meta["counters"])
            again = run(agent, firmwares[target], X)
            assert again.meta["counters"] == answer.meta["counters"]
    first, second = counted
    assert first == second
    assert len(first["instructions"]) == len(X) and min(first["instructions"]) > 100
    assert "device_ns" not in first  # the clock of an emulator is no time
    assert answer.meta["placement"]["timing"] == "emulated"
    said = firmwares[target].said
    assert (first["flash_bytes"], first["ram_bytes"]) == (said["flash_bytes"], said["ram_bytes"])
    assert 0 < first["stack_bytes"] < 4096


@needs_qemu
def test_two_emulators_count_nearly_the_same(firmwares: dict[str, Firmware], tmp_path: Path) -> None:
    """Unicorn does not count instructions of an IT block that are not executed, QEMU does."""
    found = []
    for machine in ("unicorn", "mps2-an385"):
        with leased(tmp_path / machine, board(machine=machine)) as agent:
            found.append(sum(run(agent, firmwares["cortex-m3"], X).meta["counters"]["instructions"]))
    assert 0.85 < found[0] / found[1] <= 1.0


DEEPER = """
__attribute__((noinline)) static float deeper(int left) {
    volatile float kept[64];
    for (int k = 0; k < 64; k++) kept[k] = (float)left;
    return left ? deeper(left - 1) + kept[3] : kept[5];
}
"""
# What the fourth element of the input asks for.
LONGER, DEEP, READ, BELOW, UNDEFINED, OVERFLOW, SMASHED, HANG = range(10, 18)
FIRST = f"""switch ((int)x[0][3]) {{
    case {LONGER}: for (volatile int k = 0; k < 100; k++) {{}} break;
    case {DEEP}: noise[3] = 0 * deeper(20); break;
    case {READ}: noise[0] = *(volatile float *)0x60000000; break;
    case {BELOW}: *(volatile int *)0x1ffffffc = 1; break;
    case {UNDEFINED}: __asm volatile("udf #1"); break;
    case {OVERFLOW}: noise[0] = deeper(1000); break;
    case {SMASHED}: *(volatile int *)0x20000000 = 1; break;
    case {HANG}: for (;;) __asm volatile("");
    }}"""
FAULTS = {
    READ: ("address 0x60000000", "no memory"),
    BELOW: ("address 0x1ffffffc", "no memory"),
    UNDEFINED: ("at PC 0x0000", ""),
    OVERFLOW: ("", ""),
    SMASHED: ("with the stack at 0x20000000", "the stack overflowed"),
}


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Firmware:
    """Firmware that does what the fourth element of its input asks for."""
    return built(tmp_path_factory.mktemp("odd"), more=DEEPER, first=FIRST)


def asking(what: int) -> np.ndarray[Any, Any]:
    """One sample that asks for something."""
    return np.array([[[1, 0, 0, what]]], dtype=np.float32)


def test_more_work_is_counted_and_a_deeper_stack_measured(odd: Firmware, tmp_path: Path) -> None:
    with leased(tmp_path, board()) as agent:
        plain, longer, deep = (run(agent, odd, asking(what)).meta["counters"] for what in (9, LONGER, DEEP))
    assert 300 <= longer["instructions"][0] - plain["instructions"][0] <= 1200
    assert 20 * 256 <= deep["stack_bytes"] - plain["stack_bytes"] <= 20 * 256 + 2000


QEMU_SWALLOWS = (BELOW,)  # its machine takes writes to reserved addresses


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("machine", ["unicorn", pytest.param("mps2-an385", marks=needs_qemu)])
def test_a_fault_ends_the_call_and_names_its_place(machine: str, fault: int, odd: Firmware, tmp_path: Path) -> None:
    if machine != "unicorn" and fault in QEMU_SWALLOWS:
        pytest.skip(f"{machine} of QEMU takes writes to reserved addresses")
    place, reason = FAULTS[fault]
    with leased(tmp_path, board(machine=machine)) as agent:
        with pytest.raises(AgentFailure) as caught:
            run(agent, odd, asking(fault))
        assert agent.lost
    assert caught.value.symptom == "crash"
    assert "fault" in caught.value.message
    assert place in caught.value.message and reason in caught.value.message


def test_a_model_that_hangs_is_ended_at_its_deadline(odd: Firmware, tmp_path: Path) -> None:
    with leased(tmp_path, board()) as agent:
        run(agent, odd, asking(0))
        with pytest.raises(AgentFailure) as caught:
            run(agent, odd, asking(HANG), Limits(2.0, 0, 2.0))
        assert caught.value.symptom == "timeout" and agent.lost


def test_what_does_not_fit_is_refused_with_both_sizes(tmp_path: Path) -> None:
    table = "static const uint8_t table[1200000] = {1, 2, 3};"
    used = "noise[0] = table[(int)x[0][1]];"
    large = built(tmp_path / "flash", more=table, first=used)
    assert large.said["unsupported"] == "needs 1.2 MB flash, board has 512 kB"
    used = "table[(int)x[0][0]] = x[0][1]; noise[0] = table[(int)x[0][2]];"
    many = built(tmp_path / "ram", more="static float table[200000];", first=used)
    assert many.said["unsupported"] == "needs 801 kB ram, board has 512 kB"


def test_a_target_without_a_uart_says_what_is_missing(tmp_path: Path) -> None:
    said = built(tmp_path, uart_driver="").said
    assert said["unsupported"] == "target cortex-m3 has no uart_driver, which firmware needs"


def test_a_driver_of_the_users_own_is_linked(tmp_path: Path) -> None:
    """The same UART by code that stands beside the target's file."""
    own = (Path(__file__).parents[3] / "bench_plugin/agent/c/firmware/cmsdk_uart.c").read_text(encoding="utf-8")
    firmware = built(tmp_path / "firmware", uart_driver="mine.c", uart_source=own)
    with leased(tmp_path / "board", board()) as agent:
        assert run(agent, firmware, X).arrays["out0"].shape == (3, 1, 4)
