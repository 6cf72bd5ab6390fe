"""The folders of data (the user's own, then the checkout's, then the wheel's) and of the cache."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bench_plugin.domain.errors import UsageError

PACKAGE = Path(__file__).resolve().parents[1]
CHECKOUT = PACKAGE.parent
LOGS = "logs"  # the folder of what tools printed, beside the results file


def folders(kind: str, root: Path) -> list[Path]:
    """The existing folders of a kind such as ``fixtures/models`` or ``boards/targets``, nearest to the user first.

    ``root`` is the user's own project (pytest's rootdir).
    """
    checkout = [CHECKOUT] if (CHECKOUT / "pyproject.toml").is_file() else []
    candidates = [base / kind for base in (root, *checkout, PACKAGE / "data")]
    return list({path.resolve(): path for path in reversed(candidates) if path.is_dir()}.values())[::-1]


def make_folder(folder: Path, option: str) -> None:
    """Make the folder that an option or a configuration key names. Raises UsageError where it cannot be made."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{option}: the folder {folder} cannot be made: {error.strerror}; name another") from error


def check_writable(folder: Path, option: str) -> None:
    """Make a file in the folder, which is gone at once. Raises UsageError where none can be made."""
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise UsageError(
            f"the folder {folder} cannot be written: {error.strerror}; name another place with {option}"
        ) from error


def check_file_name(text: str, option: str) -> None:
    """Raises UsageError for a text that names a folder, where an option or a configuration key wants a file."""
    if text.endswith(("/", os.sep)) or Path(text).name in ("", ".."):
        raise UsageError(f"{option}: {text} names a folder; name a file in it, such as {Path(text) / 'results.jsonl'}")


def cache_root() -> Path:
    """The folder of toolchains and stages: $BENCH_CACHE, else below the user's cache folder (XDG Base Directory)."""
    own = os.environ.get("BENCH_CACHE")
    if own:
        return Path(own).absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache") / "bench_plugin"


def scratch_folder(name: str) -> Path:
    """A new folder for temporary files of the run; the caller must remove it.

    It lies below the cache folder, or in the system's folder for temporary files where that cannot be written.
    """
    base = cache_root() / "scratch"
    try:
        base.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=base))
    except OSError:
        return Path(tempfile.mkdtemp(prefix=f"bench-{name}-"))
