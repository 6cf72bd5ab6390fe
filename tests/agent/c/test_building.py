"""Programs of a compiler's C code: the glue, arrays and weights in their places, sizes, and what does not fit."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.c import building, elf, glue, prototype, sources
from bench_plugin.reach.processes.zipapp import build_agent
from tests.agent.c.compiled import compiled

CODE = """
extern float weight1_w[2][3];
extern float weight2_v[1];
float weight1_w[2][3];
float weight2_v[1];

static _Bool model_load_file(FILE *file);

_Bool model_load(const char *path) {
    return 0;
}

static _Bool model_load_file(FILE *file) {
    if (fread(&weight1_w[0][0], sizeof(weight1_w[0][0]), 1, file) != 1) {
        return 0;
    }
    return 1;
}

void model(const float x[restrict 2][3], float y[restrict 2][3]) {
    float tmp0_c[2][3];
    float sum = 0.0f;
    static float tmp1_d[2];
    int order[2] = {1, 0};
    const float fixed[2];
        unsigned char inner[4][4];
    for (int i = 0; i < 6; i++) ((float *)y)[i] = ((float *)x)[i] * ((float *)weight1_w)[i] + weight2_v[0];
}
"""


def test_arrays_of_functions_are_moved_to_static_memory_and_nothing_else() -> None:
    lines = prototype.with_static_arrays(CODE).splitlines()
    changed = [line.strip() for line, before in zip(lines, CODE.splitlines(), strict=True) if line != before]
    assert changed == ["static float tmp0_c[2][3];", "static unsigned char inner[4][4];"]


def test_weights_are_linked_from_their_file_in_its_order(tmp_path: Path) -> None:
    placed = prototype.with_linked_weights(CODE, "model", "model.bin", 28)
    assert "FILE" not in placed and "load" not in placed
    (tmp_path / "model.bin").write_bytes(struct.pack("<7f", *range(1, 8)))
    (tmp_path / "placed.c").write_text(placed)
    main = tmp_path / "main.c"
    main.write_text("""
        #include <stdio.h>
        #include "placed.c"
        int main(void) {
            float x[2][3] = {{1, 1, 1}, {1, 1, 1}}, y[2][3];
            model(x, y);
            for (int i = 0; i < 6; i++) printf("%g ", y[i / 3][i % 3]);
            return 0;
        }
    """)
    made = compiled([main], tmp_path / "main", "-w", f"-I{tmp_path}", f"-Wa,-I{tmp_path}")
    said = subprocess.run([str(made)], capture_output=True, text=True, check=True, timeout=20).stdout
    assert said == "8 9 10 11 12 13 "


def test_weights_that_do_not_fill_their_file_are_refused() -> None:
    with pytest.raises(ValueError, match="the weights of the C code have 28 bytes, their file 24"):
        prototype.with_linked_weights(CODE, "model", "model.bin", 24)


def test_sizes_of_a_program_are_those_of_its_segments(tmp_path: Path) -> None:
    """One segment of code and one of variables, of which only the first half is stored."""
    for wide in (False, True):
        header = b"\x7fELF" + bytes([2 if wide else 1, 1]) + bytes(10)
        if wide:
            header = header.ljust(32, b"\0") + struct.pack("<QQIHHH", 64, 0, 0, 64, 56, 3)
            rows = [(1, 5, 0, 0, 0, 1000, 1000, 0), (1, 6, 0, 0, 0, 40, 300, 0), (4, 4, 0, 0, 0, 9, 9, 0)]
            data = header.ljust(64, b"\0") + b"".join(struct.pack("<IIQQQQQQ", *row) for row in rows)
        else:
            header = header.ljust(28, b"\0") + struct.pack("<IIIHHH", 52, 0, 0, 52, 32, 3)
            rows = [(1, 0, 0, 0, 1000, 1000, 5, 0), (1, 0, 0, 0, 40, 300, 6, 0), (4, 0, 0, 0, 9, 9, 4, 0)]
            data = header.ljust(52, b"\0") + b"".join(struct.pack("<8I", *row) for row in rows)
        path = tmp_path / "program.elf"
        path.write_bytes(data)
        assert elf.sizes(str(path)) == elf.Sizes(flash=1040, ram=300)


def test_what_is_no_elf_file_has_no_sizes(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"MZ" + bytes(100))
    with pytest.raises(ValueError, match="is no ELF file"):
        elf.sizes(str(tmp_path / "x"))


@pytest.mark.parametrize(
    ("flash", "ram", "text"),
    [
        (1_250_000, 10, "needs 1.2 MB flash, board has 512 kB"),
        (10, 524_289, "needs 513 kB ram, board has 512 kB"),
        (524_289, 1 << 21, "needs 513 kB flash, board has 512 kB; 2 MB ram, board has 512 kB"),
    ],
)
def test_a_program_that_does_not_fit_is_unsupported_with_both_sizes(flash: int, ram: int, text: str) -> None:
    with pytest.raises(Unsupported, match=f"^{re.escape(text)}$"):
        building.check_size(elf.Sizes(flash, ram), {"flash": 512 << 10, "ram": 512 << 10})


def test_what_fits_exactly_and_what_is_not_known_is_taken() -> None:
    building.check_size(elf.Sizes(512 << 10, 1 << 40), {"flash": 512 << 10, "ram": 0})
    building.check_size(elf.Sizes(1 << 40, 1 << 40), {})


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({"kind": "size", "name": "N"}, "N is known only when it runs"),
        ({"kind": "input", "name": "x", "type": "float", "shape": ["N", 3]}, "x is known only when it runs"),
        ({"kind": "input", "name": "x", "type": "char *", "shape": [3]}, r"C type char \*"),
        ({"kind": "output", "name": "x", "type": "float", "shape": [1] * 9}, "rank 9"),
    ],
)
def test_what_does_not_travel_is_unsupported(row: dict[str, object], text: str) -> None:
    with pytest.raises(Unsupported, match=text):
        glue.text("model.c", "model", [row], "00" * 32, {})


def test_the_agent_carries_its_c_sources(tmp_path: Path) -> None:
    """In its archive too, which is all that a toolchain gets of it."""
    archive = build_agent(tmp_path)
    folder = tmp_path / "unpacked"
    script = f"from bench_plugin.agent.c import sources; sources.written({str(folder)!r}); print(sources.digest())"
    python = shutil.which("python3") or "python3"
    done = subprocess.run(
        [python, "-c", script], env={"PYTHONPATH": str(archive)}, capture_output=True, text=True, check=True, cwd="/"
    )
    assert done.stdout.strip() == sources.digest()
    own = Path(sources.__file__).parent
    assert (folder / "core.c").read_bytes() == (own / "core.c").read_bytes()
    assert {path.name for path in folder.iterdir()} >= {"core.c", "core.h", "posix.c", "linux.c", "libm.zig"}
