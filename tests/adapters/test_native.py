"""The framework itself as a compiler: what it says of what it built."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from bench_plugin.adapters.compilers import native


def test_the_framework_itself_takes_other_sizes_than_those_it_was_built_for(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = SimpleNamespace(reset=lambda: None)
    monkeypatch.setattr(native, "FRAMEWORKS", {"some": (lambda: builder, lambda *_: (list, {"threads": 2}, []))})
    call: Any = SimpleNamespace(framework="some")
    reply = native.Adapter().compile(call)
    assert (reply.meta["dynamic"], reply.meta["switches"]) == ("preserved", {"threads": 2})
