"""What uv is told of pip's configuration, and which line of its output a person sees."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bench_plugin.domain.errors import UsageError
from bench_plugin.reach.environments.uv import first_useful_line, uv_environment


def test_pips_registry_is_passed_on(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text("[global]\nindex-url = https://a/simple\nextra-index-url = https://b https://c\ncert = /pem\n")
    found = uv_environment({"PIP_CONFIG_FILE": str(config), "PIP_FIND_LINKS": "/w /v"})
    assert found["UV_DEFAULT_INDEX"] == "https://a/simple"
    assert found["UV_INDEX"] == "https://b https://c"
    assert found["UV_FIND_LINKS"] == "/w,/v"
    assert found["SSL_CERT_FILE"] == "/pem"


def test_what_uv_was_told_is_not_overruled(tmp_path: Path) -> None:
    told = {"UV_INDEX_URL": "https://mine", "UV_FIND_LINKS": "/mine", "SSL_CERT_FILE": "/mine.pem"}
    pip = {"PIP_INDEX_URL": "https://a", "PIP_FIND_LINKS": "/w", "PIP_CERT": "/pem", "PIP_CONFIG_FILE": os.devnull}
    found = uv_environment({**told, **pip})
    assert told.items() <= found.items()
    assert "UV_DEFAULT_INDEX" not in found


def test_the_callers_own_python_settings_do_not_reach_uv() -> None:
    own = {"VIRTUAL_ENV": "/x", "PYTHONPATH": "/y", "PYTHONHOME": "/z", "PIP_CONFIG_FILE": os.devnull}
    assert uv_environment(own).keys() == {"PIP_CONFIG_FILE"}


def test_pip_configuration_that_cannot_be_read(tmp_path: Path) -> None:
    config = tmp_path / "pip.conf"
    config.write_text("index-url = https://a\n")
    with pytest.raises(UsageError, match="pip.conf: pip's configuration cannot be read"):
        uv_environment({"PIP_CONFIG_FILE": str(config)})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ""),
        ("warning: old\nerror: Failed to fetch: a\n  cause: x\n  cause: dns\n\nhint: y\n", "Failed to fetch: a (dns)"),
        (
            "  × No solution found:\n  ╰─▶ Because a was not\n      found, b fails.\n",
            "No solution found: Because a was not found, b fails.",
        ),
        ("something else\n", "something else"),
    ],
)
def test_first_useful_line(text: str, line: str) -> None:
    assert first_useful_line(text) == line
