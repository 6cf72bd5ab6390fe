"""A title that is a number, or half a character: the file and the key are named, and a board's is refused as well."""

from __future__ import annotations

import pytest

from tests.project import Project

FILES = {
    "model": ("fixtures/models/a.toml", 'name = "a"\ntitle = {}\nfamily = "mlp"\ntask = "classification"\n'),
    "target": ("boards/targets/a.toml", 'name = "a"\ntitle = {}\n'),
    "compiler": (
        "fixtures/compilers/a.toml",
        'title = {}\ncommand = ["true"]\nartefact = "x"\n[precisions]\nfp32 = ["original"]\n',
    ),
    "toolchain": ("toolchains/a.toml", 'title = {}\npython = "host"\n'),
    "board": ("boards/a.toml", "title = {}\n"),
}


@pytest.mark.parametrize("title", ["7", '"\\ud800"', '["a"]'])
@pytest.mark.parametrize("kind", FILES)
def test_a_title_that_is_none(project: Project, kind: str, title: str) -> None:
    name, text = FILES[kind]
    project.write(name, text.replace("{}", title))
    done = project.bench("list", "boards")
    assert done.returncode == 2 and "Traceback" not in done.stderr, done.stderr
    assert f"{name}:" in done.stderr and ("title: expected a text" in done.stderr or "not a TOML file" in done.stderr)
