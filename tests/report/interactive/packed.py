"""What is packed in an element of the page, for tests that read a page without a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from bench_plugin.report.interactive.packing import unpack_bytes


def packed(page: Path, name: str) -> Any:
    """What is packed in an element of the page."""
    found = re.search(rf'<script type="text/plain" id="{name}">([^<]*)</script>', page.read_text("utf-8"))
    assert found, name
    return json.loads(unpack_bytes(found[1].encode()))
