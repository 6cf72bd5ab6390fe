"""What identifies the tools of a stage: programs, helper files, declared files and variables, imports, the host."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bench_plugin.inventory.adapters import Catalog
from bench_plugin.inventory.fingerprints import Fingerprints
from bench_plugin.reach.environments.toolchains import Toolchains

DESCRIPTION = """
toolchain = "own"
command = ["vendorcc", "--script={here}/passes.py", "{model}", "out.bin"]
artefact = "out.bin"
precisions = { fp32 = ["original"] }
version = { command = ["vendorcc", "--version"], pattern = '.*' }
"""
ADAPTER = """
import helper
from lib.parts import tiny
ADAPTER = {"name": "mine", "kind": "compiler", "toolchain": "own", "operations": ["compile", "run"], "takes": ["onnx"],
           "precisions": {"fp32": ["original"]}, "needs": ["mycc"], "files": ["tables/*.json"],
           "environment": ["MY_MODE"]}
"""


class Shop:
    """A folder with a described compiler, an adapter, a toolchain that its user keeps, and a folder of programs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
        self.write("toolchains/own.toml", 'title = "Own"\npython = "../venv/bin/python"\n')
        self.write("venv/bin/python", "#!/bin/sh\nexit 1\n", program=True)
        self.write("compilers/vendor.toml", DESCRIPTION)
        self.write("compilers/passes.py", "import order\n")
        self.write("compilers/order.py", "FIRST = 1\n")
        self.write("adapters/mine.py", ADAPTER)
        self.write("adapters/helper.py", "import deeper\n")
        self.write("adapters/deeper.py", "X = 1\n")
        self.write("adapters/lib/__init__.py", "")
        self.write("adapters/lib/parts/tiny.py", "Y = 1\n")
        self.write("adapters/tables/a.json", "{}")
        self.write("bin/vendorcc", "#!/bin/sh\necho vendor 1\n", program=True)
        self.write("bin/mycc", "#!/bin/sh\necho mine 1\n", program=True)

    def write(self, name: str, text: str, *, program: bool = False) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        if program:
            path.chmod(0o755)

    def prints(self, *given: str) -> Fingerprints:
        """The fingerprints of a run that begins now, whose user gives agents these variables, too."""
        catalog = Catalog([self.folder / "adapters/mine.py"])
        catalog.describe(self.folder / "compilers/vendor.toml")
        return Fingerprints(catalog, Toolchains([self.folder / "toolchains"]), self.environment, given=given)

    def vendor(self) -> str:
        return self.prints().digest("command[vendor]")

    def mine(self) -> str:
        return self.prints().digest("mine")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def differs(key: Callable[[], str], change: Callable[[], object]) -> bool:
    """Whether a change gives another key, which itself stays the same as long as nothing changes."""
    before = key()
    assert key() == before
    change()
    return key() != before


def test_a_program_replaced_at_its_path_is_another_recipe(shop: Shop) -> None:
    assert differs(shop.vendor, lambda: shop.write("bin/vendorcc", "#!/bin/sh\necho vendor 1 \n", program=True))
    assert differs(shop.mine, lambda: shop.write("bin/mycc", "#!/bin/sh\necho mine 2\n", program=True))


def test_what_a_program_prints_as_its_version_counts(shop: Shop) -> None:
    shop.write("bin/vendorcc", '#!/bin/sh\ncat "$0.version"\n', program=True)
    shop.write("bin/vendorcc.version", "1")
    assert differs(shop.vendor, lambda: shop.write("bin/vendorcc.version", "2"))


def test_a_compiler_that_is_installed_later_is_another_recipe(shop: Shop) -> None:
    program = shop.folder / "bin/vendorcc"
    text = program.read_text()
    program.unlink()
    assert differs(shop.vendor, lambda: shop.write("bin/vendorcc", text, program=True))


def test_a_programs_place_is_looked_for_where_the_tool_will_find_it(shop: Shop) -> None:
    assert differs(shop.vendor, lambda: shop.write("venv/bin/vendorcc", "#!/bin/sh\n", program=True)), "it comes first"
    assert not differs(shop.mine, lambda: shop.write("venv/bin/mycc", "#!/bin/sh\n", program=True)), "host's PATH alone"


@pytest.mark.parametrize("name", ["passes.py", "order.py"])
def test_a_helper_in_the_arguments_counts_with_what_it_imports(shop: Shop, name: str) -> None:
    assert differs(shop.vendor, lambda: shop.write(f"compilers/{name}", "FIRST = 2\n"))


@pytest.mark.parametrize("name", ["helper.py", "deeper.py", "lib/parts/tiny.py", "tables/a.json", "tables/new.json"])
def test_imports_and_declared_files_of_an_adapter_count(shop: Shop, name: str) -> None:
    assert differs(shop.mine, lambda: shop.write(f"adapters/{name}", "7\n"))


def test_a_file_that_nobody_imports_or_declares_does_not_count(shop: Shop) -> None:
    assert not differs(shop.mine, lambda: shop.write("adapters/other.py", "7\n"))


def test_declared_variables_of_adapters_and_descriptions_count(shop: Shop) -> None:
    assert differs(shop.mine, lambda: shop.environment.update(MY_MODE="fast"))
    shop.write("compilers/vendor.toml", f'files = ["rules.txt"]\nenvironment = ["VENDOR_MODE"]\n{DESCRIPTION}')
    assert differs(shop.vendor, lambda: shop.environment.update(VENDOR_MODE="fast"))
    assert differs(shop.vendor, lambda: shop.write("compilers/rules.txt", "fold"))


def test_variables_that_change_numerics_count_and_others_do_not(shop: Shop) -> None:
    assert differs(shop.mine, lambda: shop.environment.update(OMP_NUM_THREADS="1"))
    assert not differs(shop.mine, lambda: shop.environment.update(EDITOR="ed"))


def test_variables_that_agents_do_not_get_are_none_of_the_host(shop: Shop) -> None:
    shop.environment.update(TF_ENABLE_ONEDNN_OPTS="0", TF_VAR_db_pass="word", TF_API_KEY="word")
    shop.environment.update(MLAS_MODE="exact")
    assert shop.prints().host["variables"] == {"TF_ENABLE_ONEDNN_OPTS": "0"}
    named = {"MLAS_MODE": "exact", "TF_ENABLE_ONEDNN_OPTS": "0"}
    assert shop.prints("MLAS_*").host["variables"] == named


def test_the_c_compiler_of_a_target_counts_for_cells_of_that_target(shop: Shop) -> None:
    target = {"name": "board", "gcc": "board-gcc"}
    shop.write("bin/board-gcc", "#!/bin/sh\necho 1\n", program=True)

    def board() -> str:
        return shop.prints().digest("mine", target=target)

    def replaced() -> None:
        shop.write("bin/board-gcc", "#!/bin/sh\necho 2\n", program=True)

    local = shop.mine()
    assert differs(board, replaced)
    assert shop.mine() == local


def test_it_does_not_count_for_an_adapter_that_has_its_own(shop: Shop) -> None:
    shop.write("adapters/mine.py", ADAPTER.replace('"needs"', '"own_cross_compiler": True, "needs"'))
    shop.write("bin/board-gcc", "#!/bin/sh\necho 1\n", program=True)
    target = {"name": "board", "gcc": "board-gcc"}
    before = shop.prints().of("mine", target=target)
    shop.write("bin/board-gcc", "#!/bin/sh\necho 2\n", program=True)
    assert shop.prints().of("mine", target=target) == before
    assert "board-gcc" not in before["programs"]


def test_a_recipe_is_the_same_before_and_after_its_toolchain_is_made(shop: Shop, tmp_path: Path) -> None:
    shop.write("toolchains/made.toml", 'title = "M"\ninterpreter = ">=3.11"\nrequirements = []\n')
    shop.write("toolchains/made.lock", "")
    shop.write("compilers/vendor.toml", DESCRIPTION.replace('"own"', '"made"').replace("vendorcc", "madecc"))
    catalog = Catalog()
    catalog.describe(shop.folder / "compilers/vendor.toml")
    toolchains = Toolchains([shop.folder / "toolchains"], root=tmp_path / "made")
    before = Fingerprints(catalog, toolchains, shop.environment).of("command[vendor]")["adapters"]
    bin_folder = toolchains.folder("made") / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "madecc").write_text("#!/bin/sh\n")
    (bin_folder / "madecc").chmod(0o755)
    assert Fingerprints(catalog, toolchains, shop.environment).of("command[vendor]")["adapters"] == before


def test_each_program_is_asked_once_in_a_run(shop: Shop) -> None:
    shop.write("bin/vendorcc", f"#!/bin/sh\necho asked >> {shop.folder}/asked\n", program=True)
    prints = shop.prints()
    assert prints.digest("command[vendor]") == prints.digest("command[vendor]", "own", {"name": "local"})
    assert (shop.folder / "asked").read_text() == "asked\n"


def test_a_program_that_does_not_say_its_version_in_time_is_ended(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench_plugin.inventory.programs.SECONDS", 0.3)
    shop.write("bin/vendorcc", f"#!/bin/sh\necho $$ > {shop.folder}/pid\nexec sleep 100\n", program=True)
    assert shop.prints().of("command[vendor]")["adapters"][-1]["command"]["version"] == ""
    with pytest.raises(ProcessLookupError):
        os.kill(int((shop.folder / "pid").read_text()), 0)
