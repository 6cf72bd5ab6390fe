"""The folders of data (the user's own, then the checkout's, then the wheel's) and of the cache."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from bench_plugin.domain.errors import UsageError

PACKAGE = Path(__file__).resolve().parents[1]
CHECKOUT = PACKAGE.parent
DATA_MODULE = "bench_plugin.data"
LOGS = "logs"  # the folder of what tools printed, beside the results file


def folders(kind: str, root: Path) -> list[Path]:
    """The existing folders of a kind such as ``fixtures/models`` or ``boards/targets``, nearest to the user first.

    ``root`` is the user's own project (pytest's rootdir).
    """
    checkout = [CHECKOUT] if (CHECKOUT / "pyproject.toml").is_file() else []
    candidates = [base / kind for base in (root, *checkout, PACKAGE / "data")]
    return list({path.resolve(): path for path in reversed(candidates) if path.is_dir()}.values())[::-1]


def suites_root() -> Path:
    """The folder above the package's own suites: the package's data in a wheel, the checkout in an editable install."""
    return CHECKOUT if (CHECKOUT / "pyproject.toml").is_file() else PACKAGE / "data"


def suite_name(path: Path) -> str:
    """How rows name a file of the package's own suites, such as suites/quality/test_quality.py; empty for any other."""
    own = suites_root()
    return path.relative_to(own).as_posix() if path.is_relative_to(own / "suites") else ""


def suite_module(name: str) -> str:
    """The module by which ``pytest --pyargs`` takes a file that rows name so; empty where the package has none."""
    found = name.startswith("suites/") and (suites_root() / name).is_file()
    return ".".join((DATA_MODULE, *Path(name).with_suffix("").parts)) if found else ""


def suite_argument(argument: str) -> str:
    """An argument of ``pytest --pyargs`` that names suites of the package, as a path where they are in a checkout.

    There the package's data has no files, so that pytest would find nothing. Every other argument is left as it is.
    """
    module, separator, test = argument.partition("::")
    if not f"{module}.".startswith(f"{DATA_MODULE}.") or suites_root() != CHECKOUT:
        return argument
    inner = module.removeprefix(DATA_MODULE).strip(".") or "suites"
    place = CHECKOUT.joinpath(*inner.split("."))
    path = place if place.is_dir() else place.with_suffix(".py")
    return f"{path}{separator}{test}" if path.exists() else argument


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
