"""A tiny toolchain of the tests' own: one wheel made here, a folder instead of a registry, an empty home."""

from __future__ import annotations

import base64
import hashlib
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from bench_plugin.reach.environments.toolchains import Toolchains


@dataclass(frozen=True)
class Workshop:
    """Where a test's toolchain files, wheels and environments lie."""

    files: Path
    wheels: Path
    cache: Path

    def toolchain(self, name: str = "gadgets", *, lock: str | None = None, extra: str = "") -> None:
        """Write ``<name>.{toml,lock}`` that ask for gadget 1.0."""
        head = "" if "interpreter" in extra else 'interpreter = ">=3.11"\n'
        toml = f'title = "Gadgets"\n{head}requirements = ["gadget==1.0"]\n{extra}\n'
        (self.files / f"{name}.toml").write_text(toml)
        (self.files / f"{name}.lock").write_text(self.pin() if lock is None else lock)

    def pin(self) -> str:
        """The lock's line of the gadget."""
        digest = hashlib.sha256((self.wheels / "gadget-1.0-py3-none-any.whl").read_bytes()).hexdigest()
        return f"gadget==1.0 \\\n    --hash=sha256:{digest}\n"

    def open(self) -> Toolchains:
        """The toolchains, read now."""
        return Toolchains([self.files])

    def made(self) -> list[str]:
        """What lies in the cache besides lock files."""
        root = self.cache / "toolchains"
        return sorted(path.name for path in root.glob("*") if path.suffix != ".lock") if root.is_dir() else []


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    """A workshop whose uv and pip know of nothing but its folder of wheels."""
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    shop = Workshop(tmp_path / "files", tmp_path / "wheels", tmp_path / "cache")
    shop.files.mkdir()
    shop.wheels.mkdir()
    write_wheel(shop.wheels)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BENCH_CACHE", str(shop.cache))
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_FIND_LINKS", str(shop.wheels))
    return shop


def write_wheel(folder: Path, version: str = "1.0", answer: int = 42, further: Mapping[str, str] | None = None) -> None:
    """Write the wheel of the gadget, a module with one constant, and the texts of further files by their names."""
    info = f"gadget-{version}.dist-info"
    entries = {
        "gadget.py": f"ANSWER = {answer}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: gadget\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        **(further or {}),
    }
    record = "".join(_recorded(name, text.encode()) for name, text in entries.items()) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"gadget-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in {**entries, f"{info}/RECORD": record}.items():
            wheel.writestr(name, text)


def _recorded(name: str, data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"
