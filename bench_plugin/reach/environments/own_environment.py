"""An environment that the user keeps: what is installed in it, and a digest of all that its interpreter can import.

Nothing pins such an environment, so it is read as it is: the RECORD of every distribution, files that were changed
since they were installed, ``.pth`` files and the folders that they add, the sources of editable installations, and
packages that no installer recorded (those of Debian among them).
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bench_plugin.domain.paths import PACKAGE
from bench_plugin.domain.recipes import recipe
from bench_plugin.reach.environments.record_files import Recorded, recorded_files

SECONDS = 20.0  # for an interpreter to start
ASKED = (
    "import json, sys, sysconfig; "
    "print(json.dumps([sys.version, sys.path, [sysconfig.get_path('stdlib'), sysconfig.get_path('platstdlib')]]))"
)
SITES = ("site-packages", "dist-packages")
CODE = (".py", ".so", ".pyd")  # what is hashed of a source folder; data files are an adapter's to declare
NO_SOURCES = {"__pycache__", "node_modules", *SITES}  # folders that are not searched, nor are those with a dot
INFORMATION = re.compile(r"^(.+?)-([^-]+?)(?:-py[\d.]+)?\.(?:dist-info|egg-info)$")


@dataclass(frozen=True)
class OwnEnvironment:
    """``versions`` by distribution, as the names of their folders say them; ``identity`` is a SHA-256, 64 hex digits.

    ``interpreter`` is what Python says of its version; empty where the interpreter does not answer.
    """

    versions: dict[str, str]
    identity: str
    interpreter: str


def examine(python: Path) -> OwnEnvironment:
    """Examine the environment of an interpreter. One that is absent or does not answer is one without packages."""
    version, path, standard = _asked(python)
    folders = [Path(place) for place in path if os.path.isdir(place) and place not in standard]
    sites = [folder for folder in folders if folder.name in SITES]
    versions: dict[str, str] = {}
    parts: list[object] = [version]  # no paths: the same environment elsewhere gives the same results
    roots = [folder for folder in folders if folder not in sites and not _standard(folder, standard)]
    for site in sites:
        for name, number in _distributions(site):
            versions.setdefault(name, number)
        parts.append(_site(site))
        roots += _sources(site)
    for root in dict.fromkeys(root.resolve() for root in roots):
        if root != PACKAGE and root != PACKAGE.parent:  # our own files are in recipes by themselves
            parts.append([root.name, tree_digest(root)])
    return OwnEnvironment(versions, recipe(stage="environment", parts=parts), version)


def tree_digest(root: Path) -> str:
    """SHA-256 of the source files of a folder, or of a single file: their paths and contents, 64 hex digits."""
    digest = hashlib.sha256()
    for path in _code(root):
        digest.update(f"{os.path.relpath(path, root)}\0".encode(errors="surrogateescape"))
        try:
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError:
            digest.update(b"unreadable")
    return digest.hexdigest()


def version_said_by(python: Path) -> str:
    """What an interpreter says of its version and build; empty where it does not answer."""
    return _asked(python)[0]


def _asked(python: Path) -> tuple[str, list[str], list[str]]:
    """The version of an interpreter, its search path as agents have it (-I), and the folders of its library."""
    try:
        done = subprocess.run(
            [str(python), "-I", "-c", ASKED], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=True
        )
        version, path, standard = json.loads(done.stdout.splitlines()[-1])
        return version, path, standard
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return "", [], []


def _standard(folder: Path, standard: Iterable[str]) -> bool:
    """Whether the folder is a part of Python's own library, which the version stands for."""
    return any(folder.is_relative_to(place) for place in standard)


def _distributions(site: Path) -> Iterator[tuple[str, str]]:
    for entry in sorted(site.iterdir()):
        match = INFORMATION.match(entry.name)
        if match:
            yield match[1], match[2]


def _site(site: Path) -> list[object]:
    """What identifies the packages in one folder, as plain data."""
    parts: list[object] = [site.name]
    owned: set[str] = set()
    for record, rows in recorded_files(site):
        parts.append([record.parent.name, _text(record), _text(record.with_name("direct_url.json"))])
        parts += _changed(rows)
        owned.update(os.path.relpath(row.path, site).partition(os.sep)[0] for row in rows)
        owned.add(record.parent.name)
    for entry in sorted(site.iterdir()):
        if entry.name in owned or entry.name in NO_SOURCES or entry.suffix == ".pyc":
            continue
        parts.append([entry.name, _unrecorded(entry)])
    parts += [[path.name, _text(path)] for path in sorted(site.glob("*.pth"))]
    return parts


def _changed(rows: Iterable[Recorded]) -> Iterator[object]:
    """The files that are not as RECORD has them."""
    for row in rows:
        problem = row.problem(contents=False)
        if problem:
            yield [os.path.basename(row.path), problem, tree_digest(Path(row.path))]


def _unrecorded(entry: Path) -> object:
    """A package without a RECORD: the sizes and times of its files, as Debian's packages keep them."""
    if entry.is_file():
        return tree_digest(entry) if entry.suffix in CODE else _text(entry)
    listed = []
    for folder, folders, names in os.walk(entry):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        for name in sorted(names):
            found = os.lstat(os.path.join(folder, name))
            listed.append([os.path.relpath(os.path.join(folder, name), entry), found.st_size, found.st_mtime_ns])
    return listed


def _sources(site: Path) -> Iterator[Path]:
    """The folders and files outside of ``site`` that editable installations name."""
    for path in site.glob("*.pth"):
        for line in _text(path).splitlines():
            place = site / line.strip()
            if line.strip() and not line.startswith(("#", "import ", "import\t")) and place.exists():
                yield place
    for path in site.glob("*.egg-link"):
        yield site / _text(path).partition("\n")[0].strip()
    for path in site.glob("__editable__*.py"):  # setuptools' finders
        yield from map(Path, _mapped(path))
    for path in site.glob("*.dist-info/direct_url.json"):
        yield from _editable(path)


def _mapped(finder: Path) -> list[str]:
    """The places in the tables MAPPING and NAMESPACES of a finder; none where it has another form."""
    try:
        tree = ast.parse(_text(finder))
    except SyntaxError:
        return []
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            texts = (one.value for one in ast.walk(node.value) if isinstance(one, ast.Constant))
            found += [text for text in texts if isinstance(text, str) and os.path.isabs(text)]
    return [text if os.path.exists(text) else f"{text}.py" for text in found]


def _editable(path: Path) -> Iterator[Path]:
    """The project of an editable installation."""
    try:
        said = json.loads(_text(path))
        place = Path(unquote(urlsplit(said["url"]).path))
        if said.get("dir_info", {}).get("editable") and place.is_dir():
            yield place
    except (ValueError, TypeError, KeyError, AttributeError):
        return


def _code(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            name
            for name in folders
            if name not in NO_SOURCES
            and not name.startswith(".")
            and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        )
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(CODE))


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8", "surrogateescape")
    except OSError:
        return ""
