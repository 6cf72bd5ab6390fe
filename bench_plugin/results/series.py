"""Series of samples beside a results file, named by their content."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

FOLDER = "series"


def keep(folder: Path, series: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, dict[str, Any]]:
    """Write every series [n, ...] below ``folder``; for each name its ``file``, relative to that, and ``samples``.

    The name of a file is the SHA-256 of its content, so the same series is written once. Raises OSError.
    """
    import numpy as np

    found: dict[str, dict[str, Any]] = {}
    for name, values in series.items():
        written = io.BytesIO()
        np.save(written, values, allow_pickle=False)
        data = written.getvalue()
        path = folder / FOLDER / f"{hashlib.sha256(data).hexdigest()}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            partial = path.with_suffix(f".{os.getpid()}.partial")
            partial.write_bytes(data)
            partial.replace(path)
        found[name] = {"file": f"{FOLDER}/{path.name}", "samples": len(values)}
    return found
