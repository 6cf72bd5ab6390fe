"""Root of the checkout: ``--nightly`` for the project's own heavy tests. All else is the plugin's (plugin.py)."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option of the project's own tests."""
    parser.addoption("--nightly", action="store_true", help="also run tests that take minutes and gigabytes")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip, visibly, what is marked as nightly."""
    if not config.getoption("--nightly", False):  # unknown where pytest finds this file only while it collects
        for item in items:
            if item.get_closest_marker("nightly"):
                item.add_marker(pytest.mark.skip(reason="takes minutes and gigabytes: pass --nightly"))
