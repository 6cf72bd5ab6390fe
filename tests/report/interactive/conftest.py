"""The page of the runs of scene.py in Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench_plugin.cli.main import main
from tests.report.interactive.scene import many, write_runs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Open = Callable[..., "Opened"]
READY = "html[data-ready=yes]"


@dataclass
class Opened:
    """A page in the browser, and everything that should not have happened: errors, and requests beyond the file."""

    page: Page
    trouble: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of a worker."""
    playwright = pytest.importorskip("playwright.sync_api", reason="comes with the extra browser")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Debian's package chromium is not installed; .ci/setup installs it")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=program)
        yield found
        found.close()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of today's run."""
    results = write_runs(tmp_path_factory.mktemp("report"))
    assert main(["history", "index", "--results", str(results)]) == 0
    return report(results)


@pytest.fixture(scope="session")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page with more cells than the table has rows in the document."""
    return report(write_runs(tmp_path_factory.mktemp("big"), many()))


@pytest.fixture
def opened(browser: Browser) -> Iterator[Open]:
    """Opens a page from disk and waits until its script is through; nothing may have gone wrong when the test ends."""
    found: list[Opened] = []

    def open_page(path: Path, hash: str = "", *, width: int = 1280, height: int = 900, scheme: str = "light") -> Opened:
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)  # type: ignore[arg-type]
        one = Opened(context.new_page())
        found.append(one)
        one.page.on("console", lambda said: one.trouble.append(said.text) if said.type == "error" else None)
        one.page.on("pageerror", lambda error: one.trouble.append(str(error)))
        one.page.on("request", lambda asked: _note(one, asked.url))
        one.page.goto(f"{path.as_uri()}{hash}")
        one.page.wait_for_selector(READY, state="attached")
        return one

    yield open_page
    for one in found:
        one.page.context.close()
        assert one.trouble == []


def report(results: Path, *arguments: str) -> Path:
    """Write the page of a results file beside it."""
    assert main(["report", str(results), *arguments]) == 0
    return results.parent / "report.html"


def _note(one: Opened, url: str) -> None:
    if not url.startswith(("file:", "data:", "blob:")):
        one.trouble.append(f"request: {url}")
