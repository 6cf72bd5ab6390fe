"""The toolchains of a run: made by uv on first use, not changed afterwards, shared by all checkouts of a user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from packaging.specifiers import SpecifierSet

from bench_plugin.domain.errors import EnvironmentMissing, UsageError
from bench_plugin.domain.paths import PACKAGE, cache_root
from bench_plugin.reach.environments import manifest
from bench_plugin.reach.environments.maker_lock import PATIENCE, maker_lock
from bench_plugin.reach.environments.own_environment import version_said_by
from bench_plugin.reach.environments.toolchain_file import Toolchain, read_toolchain
from bench_plugin.reach.environments.uv import UvFailed, run_uv, uv_environment

OWN_FOLDER = PACKAGE / "toolchains"


ANOTHER = "@"  # begins the name of an environment that another lock than today's has made


def another(folder: str) -> str:
    """The name, as a toolchain's, of an environment that another lock has made: that of its folder, marked."""
    return f"{ANOTHER}{folder}"


def _silent(text: str) -> None:
    """A progress function that says nothing."""


class Toolchains:
    """All known toolchains; ``folders`` are searched before the plugin's own.

    ``patience`` is how many seconds another run that makes a toolchain is waited for. Raises UsageError for a folder
    that does not exist or a file that is not valid.
    """

    def __init__(self, folders: Sequence[Path] = (), *, root: Path | None = None, patience: float = PATIENCE) -> None:
        self._root = root or cache_root() / "toolchains"
        self._patience = patience
        self._toolchains: dict[str, Toolchain] = {}
        self._agreeing: set[str] = set()
        for folder in (*folders, OWN_FOLDER):
            if not folder.is_dir():
                raise UsageError(f"toolchain folder {folder} does not exist")
            for path in sorted(folder.glob("*.toml")):
                self._toolchains.setdefault(path.stem, read_toolchain(path))
        self._makers = {name: threading.Lock() for name in self._toolchains}
        self._interpreters: dict[str, str] = {}
        self._examined: dict[str, str] = {}  # what is wrong with the environments that this run uses
        self._running: set[subprocess.Popen[str]] = set()
        self._cancelled = threading.Event()

    @property
    def names(self) -> list[str]:
        """The names of all toolchains, sorted."""
        return sorted(self._toolchains)

    def __getitem__(self, name: str) -> Toolchain:
        """The toolchain of this name. Raises UsageError that lists the valid ones."""
        if name not in self._toolchains:
            raise UsageError(f"there is no toolchain {name!r}; valid are {', '.join(self.names)}")
        return self._toolchains[name]

    def lock_hash(self, name: str) -> str:
        """SHA-256 of all that decides what is installed, 64 hex digits; a part of every row's key.

        Raises UsageError when the lock and its toml disagree, or there is no such toolchain.
        """
        self._check_agreement(name)
        return self[name].lock_hash

    def locked_versions(self, name: str) -> dict[str, str]:
        """The locked versions by distribution. Raises UsageError as :meth:`lock_hash` does."""
        return dict(self[name].locked_versions)

    def memory_gb(self, name: str) -> float:
        """The limit of resident memory for an agent of this toolchain, in GiB."""
        return self[name].memory_gb

    def folder(self, name: str) -> Path:
        """The folder of the environment that this lock gives, whether it exists or not."""
        own = self[name].python
        return own.parent.parent if own is not None else self._root / f"{name}-{self[name].lock_hash[:12]}"

    def ready(self, name: str) -> bool:
        """Whether the environment and its interpreter exist; not so where no lock says which environment it is."""
        try:
            return (self[name].python or _python(self.folder(name))).exists()
        except UsageError:
            return False

    def has_environment(self, folder: str) -> bool:
        """Whether the environment of a lock is there by the name of its folder, ``<toolchain>-<12 digits>``."""
        return Path(folder).name == folder and _python(self._root / folder).exists()

    def python_of(self, folder: str) -> Path:
        """The interpreter of an environment by the name of its folder, which another lock than today's has made.

        Raises EnvironmentMissing where it is not there.
        """
        if not self.has_environment(folder):
            raise EnvironmentMissing(f"there is no environment {folder} in {self._root}")
        return _python(self._root / folder)

    def ensure(self, name: str, progress: Callable[[str], None] = _silent, *, again: bool = False) -> Path:
        """The Python executable of a toolchain, which is made if it is missing; ``again`` makes it anew in any case.

        It is then made without uv's cache, whose files are linked into environments and may have been edited in them.

        ``progress`` is called with a line of text before and after that. Raises EnvironmentMissing when it cannot be
        made (registry not reachable, interpreter or system tool missing, wrong hash, disk full, another run does not
        finish it) or was changed by hand, UsageError when the lock and its toml disagree.
        """
        toolchain, folder = self[name], self.folder(name)
        python = toolchain.python or _python(folder)
        if toolchain.python is not None:
            if not python.exists():
                raise EnvironmentMissing(
                    f"toolchain {name}: {toolchain.path} names the interpreter {python}, which is not there"
                )
            return python
        if python.exists() and not again:
            self._check_agreement(name)
            changed = self.changed(name)
            if changed:
                raise EnvironmentMissing(changed)
            return python
        toolchain.check_lock()
        self.check_tools(name)
        waiting = f"toolchain {name}"
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            place = self._root / f".{folder.name}.lock"
            with (
                self._makers[name],
                maker_lock(place, waiting, progress, cancelled=self._cancelled, patience=self._patience),
            ):
                if again or not python.exists():
                    self._make(toolchain, folder, progress, cached=not again)
                    self._examined[name] = ""
        except OSError as error:
            raise EnvironmentMissing(
                f"toolchain {name} cannot be made in {self._root}: {error.strerror or error}"
            ) from error
        return python

    def cancel(self) -> None:
        """End the making of toolchains, now and later; callers that wait get EnvironmentMissing."""
        self._cancelled.set()
        for process in list(self._running):
            process.kill()

    def check_tools(self, name: str) -> None:
        """Raises EnvironmentMissing when an executable that the toolchain needs is not on the PATH."""
        missing = [tool for tool in self[name].tools if shutil.which(tool) is None]
        if missing:
            raise EnvironmentMissing(
                f"toolchain {name} needs {', '.join(missing)} on the PATH; install it with the system's package manager"
            )

    def interpreter(self, name: str) -> Path:
        """The interpreter that a toolchain is made with: the running one if it fits, else one that uv finds.

        Raises EnvironmentMissing, with the way to get one, where there is none.
        """
        wanted = self[name].interpreter
        running = ".".join(str(part) for part in sys.version_info[:3])
        base = Path(getattr(sys, "_base_executable", sys.executable))
        if SpecifierSet(wanted).contains(running) and base.exists():
            return base
        try:
            search = ["python", "find", "--no-python-downloads", "--system", wanted]
            return Path(run_uv(search, folder=Path.home()).strip())
        except UvFailed as error:
            minor = wanted.split(",")[0].strip("<>=!~ ")
            raise EnvironmentMissing(
                f"toolchain {name} needs Python {wanted}, which is not on this machine (running: {running}); "
                f"install python{minor} with the system's package manager, or: uv python install {minor}"
            ) from error

    def interpreter_version(self, name: str) -> str:
        """What the interpreter of a toolchain says of its version and build; a part of every recipe.

        For a toolchain that is not made yet it is that of the interpreter that it will be made with; empty where there
        is none.
        """
        if name not in self._interpreters:
            self._interpreters[name] = self._version_of(name)
        return self._interpreters[name]

    def _version_of(self, name: str) -> str:
        own = self[name].own
        if own is not None:
            return own.interpreter
        made = _python(self.folder(name))
        try:
            python = made if made.exists() else self.interpreter(name)
        except EnvironmentMissing:
            return ""
        same = python.resolve() == Path(sys.executable).resolve()
        return sys.version if same else version_said_by(python)

    def _check_agreement(self, name: str) -> None:
        """Check once per run that lock and toml agree. Raises UsageError where they do not."""
        if name not in self._agreeing:
            disagreement = self[name].disagreement()
            if disagreement:
                raise UsageError(disagreement)
            self._agreeing.add(name)

    def changed(self, name: str) -> str:
        """What somebody changed by hand in an environment that exists, examined once per run; empty if nothing.

        An environment that the user maintains may change.
        """
        if self[name].python is not None:
            return ""
        with self._makers[name]:
            if name not in self._examined:
                found = manifest.changes(self.folder(name), self[name].locked_versions)
                self._examined[name] = manifest.described(found)
        if not self._examined[name]:
            return ""
        return (
            f"toolchain {name} in {self.folder(name)} is not as its lock made it: {self._examined[name]}; nothing is "
            f"computed with it; make it again: bench env sync {name} --again"
        )

    def _make(self, toolchain: Toolchain, folder: Path, progress: Callable[[str], None], *, cached: bool) -> None:
        started = time.monotonic()
        prefix = f".making-{folder.name}-"
        for left_over in (*self._root.glob(f"{prefix}*"), folder):
            shutil.rmtree(left_over, ignore_errors=True)
        interpreter = self.interpreter(toolchain.name)
        progress(f"making toolchain {toolchain.name} (first use): {len(toolchain.locked_versions)} distributions")
        making = Path(tempfile.mkdtemp(prefix=prefix, dir=self._root))
        try:
            made = making / "environment"
            self._uv(["venv", "--quiet", "--relocatable", "--no-project", "--python", str(interpreter), str(made)])
            self._install(toolchain, _python(made), cached=cached)
            wrong = manifest.changes(made, toolchain.locked_versions)
            if wrong:  # uv links files of its cache into every environment: to edit one is to edit its original
                raise EnvironmentMissing(
                    f"toolchain {toolchain.name} cannot be made: uv's cache holds files that were changed by hand: "
                    f"{manifest.described(wrong)}; make it without that cache: bench env sync {toolchain.name} --again"
                )
            os.rename(made, folder)
        except UvFailed as error:
            raise UvFailed(f"toolchain {toolchain.name} cannot be made: {error}", error.output) from error
        finally:
            shutil.rmtree(making, ignore_errors=True)
        progress(f"toolchain {toolchain.name} is ready after {time.monotonic() - started:.0f} s")

    def _install(self, toolchain: Toolchain, python: Path, *, cached: bool) -> None:
        install = ["pip", "install", "--quiet", "--require-hashes", "--no-build", "--python", str(python)]
        if not cached:
            install.append("--no-cache")
        if toolchain.no_deps:
            install.append("--no-deps")
        if "torch" in toolchain.locked_versions and "UV_FIND_LINKS" not in uv_environment(os.environ):
            # The option for torch's backend would redirect all its packages; the lock takes only torch from there.
            only_torch = python.parents[1] / "torch.lock"
            only_torch.write_text(_part(toolchain.lock_text, "torch"), "utf-8")
            self._uv([*install, "--no-deps", "--torch-backend=cpu", "-r", str(only_torch)])
            install.append("--no-deps")
        self._uv([*install, "-r", str(toolchain.lock_path.resolve())])

    def _uv(self, arguments: Sequence[str]) -> None:
        """Run uv so that ``cancel`` can end it."""
        processes: list[subprocess.Popen[str]] = []

        def started(process: subprocess.Popen[str]) -> None:
            processes.append(process)
            self._running.add(process)
            if self._cancelled.is_set():
                process.kill()

        try:
            run_uv(arguments, folder=self._root, started=started)
        finally:
            self._running.difference_update(processes)


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _part(lock: str, name: str) -> str:
    """The lines of a lock that pin one distribution."""
    lines: list[str] = []
    inside = False
    for line in lock.splitlines():
        if not line.startswith((" ", "\t")):
            inside = line.startswith(f"{name}==")
        if inside:
            lines.append(line)
    return "\n".join(lines) + "\n"
