"""Measures ``bench report`` on 10,000 cells (report_rows.py) against its budgets: sizes, writing, and a real browser.

    python benchmarks/report.py [--cells 10000] [--folder FOLDER]

Needs the extras ``report`` and ``browser`` and Debian's package chromium. Ends with 1 where a budget does not hold;
times mean something on a quiet machine only. Writing is measured with the comparison with the run before.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from report_rows import write

MB = 1e6
REPEATS = 9
PAINTED = """async () => {
  const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime;
  return [paint, window.tableShown, performance.now()];
}"""
# From the action to the next frame that is on the screen: layout is forced, then two frames pass.
ACTION = """async action => {
  const from = performance.now();
  (0, eval)(action)();
  document.body.offsetHeight;
  const computed = performance.now() - from;
  await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
  return [computed, performance.now() - from];
}"""
SEARCH = "() => { const q = document.getElementById('search'); q.value = '%s'; q.dispatchEvent(new Event('input')); }"
CLICK = "() => document.querySelector(`%s`).click()"
ACTIONS = {
    "search": [SEARCH % "resnet tvm", SEARCH % ""],
    "filter": [CLICK % "#chips button[data-column=status]", CLICK % "#chips button[data-column=status]"],
    "sort by a word": [CLICK % "th[data-column=model] button"] * 2,
    "sort by a number": [CLICK % "th[data-column=E] button"] * 2,
}
# Set before the page's own script: the moment at which the table has rows.
WATCH = """new MutationObserver((_, watching) => {
  if (!document.querySelector('#rows tr[data-at]')) return;
  watching.disconnect();
  requestAnimationFrame(() => setTimeout(() => { window.tableShown = performance.now(); }));
}).observe(document, {childList: true, subtree: true});"""


def main() -> int:
    """Print every figure beside its budget; 1 where one does not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="where the rows and the pages stay (default: a temporary one)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        results = write(folder, arguments.cells)
        print(f"{arguments.cells} cells, {results.stat().st_size / MB:.1f} MB of rows")
        held = [*_written(results, folder / "report.html"), *_shown(folder / "report.html")]
    return 0 if all(held) else 1


def _written(results: Path, page: Path) -> list[bool]:
    small = page.with_name("small.html")
    seconds, used = _run(results, page)
    _run(results, small, "--without-details")
    return [
        _said("size with every detail", page.stat().st_size / MB, 9, "MB"),
        _said("size of grids and pictures", small.stat().st_size / MB, 3, "MB"),
        _said("writing", seconds, 2, "s", f"; {used:.2f} s of processor time, with Python's start"),
    ]


def _run(results: Path, page: Path, *more: str) -> tuple[float, float]:
    """The least wall and processor seconds of three runs."""
    found = []
    for _ in range(3):
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = [sys.executable, "-m", "bench_plugin.cli.main", "report", str(results), "-o", str(page), *more]
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        found.append((time.monotonic() - start, used))
    return min(wall for wall, _ in found), min(used for _, used in found)


def _shown(page: Path) -> list[bool]:
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("Debian's package chromium is not installed; .ci/setup installs it")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program)
        loads = []
        for _ in range(3):
            tab = browser.new_page(viewport={"width": 1280, "height": 900})
            tab.add_init_script(WATCH)
            tab.goto(page.as_uri())
            tab.wait_for_selector("html[data-ready=yes]", state="attached")
            tab.wait_for_function("window.tableShown")
            loads.append(tab.evaluate(PAINTED))
        held = [_said("painted, the table with its rows", min(load[1] for load in loads) / 1e3, 1.5, "s")]
        print(f"  first paint after {min(load[0] for load in loads):.0f} ms")
        held += [_action(tab, name, actions) for name, actions in ACTIONS.items()]
        opened = [
            tab.evaluate("""async () => { const from = performance.now();
            document.querySelector('#rows tr[data-at]').click();
            while (!document.querySelector('dialog[open]')) await new Promise(requestAnimationFrame);
            const took = performance.now() - from; document.querySelector('dialog').close(); return took; }""")
        ]
        print(f"  evidence of a cell opens in {opened[0]:.0f} ms (its block of details is unpacked)")
        held.append(_pictures(tab))
        browser.close()
    return held


def _action(tab: Any, name: str, actions: list[str]) -> bool:
    found = [tab.evaluate(ACTION, action) for _ in range(REPEATS) for action in actions]
    computed, shown = (statistics.median(one[place] for one in found) for place in (0, 1))
    return _said(name, shown, 50, "ms", f" to the next frame; {computed:.0f} ms of script and layout")


def _pictures(tab: Any) -> bool:
    count = tab.locator(".picture").count()
    start = time.monotonic()
    for number in range(count):
        tab.locator(".picture").nth(number).scroll_into_view_if_needed()
        tab.wait_for_selector(f"[data-picture='{number}'] .canvas[data-drawn=yes]", timeout=120_000)
    print(f"  {count} pictures are drawn in {time.monotonic() - start:.1f} s, one after the other")
    return True


def _said(what: str, figure: float, budget: float, unit: str, more: str = "") -> bool:
    held = figure <= budget
    print(f"{'holds' if held else 'DOES NOT HOLD'}: {what}: {figure:.2f} {unit}, budget {budget} {unit}{more}")
    return held


if __name__ == "__main__":
    sys.exit(main())
