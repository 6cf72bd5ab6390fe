"""The file of a user's inputs for an ONNX file, ``--bench-inputs FILE.npz``: arrays by the names of the inputs."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.domain.errors import UsageError

if TYPE_CHECKING:
    import numpy as np

OPTION = "--bench-inputs"


@dataclass(frozen=True)
class InputsFile:
    """The arrays [...] of a file by name; ``digest`` is the SHA-256 of its content, in hexadecimal."""

    path: Path
    digest: str
    arrays: Mapping[str, np.ndarray[Any, Any]] = field(compare=False)


def read_inputs(path: Path) -> InputsFile:
    """Read an .npz file. Raises UsageError for a file that cannot be read, is none, or holds Python objects."""
    import numpy as np

    try:
        content = path.read_bytes()
        stored = np.load(io.BytesIO(content), allow_pickle=False)
        if isinstance(stored, np.ndarray):
            raise UsageError(f"{OPTION}: {path} holds a single array; numpy.savez writes arrays with names")
        arrays = {name: stored[name] for name in stored.files}
    except OSError as error:
        raise UsageError(f"{OPTION}: {path} cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        text = "it holds Python objects, which are not read" if "pickle" in str(error) else str(error)
        raise UsageError(f"{OPTION}: {path} is not an .npz file of numbers: {text}") from error
    return InputsFile(path, hashlib.sha256(content).hexdigest(), arrays)
