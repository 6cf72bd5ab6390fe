"""Where data lies: the user's own folders, then the checkout, then the wheel's data; and the cache folder."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bench_plugin.domain.errors import UsageError

PACKAGE = Path(__file__).resolve().parents[1]
CHECKOUT = PACKAGE.parent


def folders(kind: str, root: Path) -> list[Path]:
    """The existing folders of a kind such as ``fixtures/models`` or ``boards/targets``, nearest to the user first.

    ``root`` is the user's own project (pytest's rootdir).
    """
    checkout = [CHECKOUT] if (CHECKOUT / "pyproject.toml").is_file() else []
    candidates = [base / kind for base in (root, *checkout, PACKAGE / "data")]
    return list({path.resolve(): path for path in reversed(candidates) if path.is_dir()}.values())[::-1]


def make_folder(folder: Path, option: str) -> None:
    """Make the folder that an option or a key of the configuration names. Raises UsageError where that cannot be."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option}: the folder {folder} cannot be made: {error.strerror}") from error


def cache_root() -> Path:
    """The folder that toolchains and results of stages are kept in: BENCH_CACHE, else below the user's cache folder."""
    own = os.environ.get("BENCH_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache") / "bench_plugin"


def scratch_folder(name: str) -> Path:
    """A new folder for files that do not outlive the run, below the cache folder; whoever asks for it removes it."""
    base = cache_root() / "scratch"
    base.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=base))
