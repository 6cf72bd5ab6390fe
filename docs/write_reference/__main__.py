"""Writes the pages of reference that are made from code, and README's table of compilers; `--check` only compares."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))  # tests/docs, which executes the commands that are shown as examples

import commands_page  # noqa: E402 (the modules beside this file import from ROOT)
import compilers_table  # noqa: E402
import options_page  # noqa: E402
import python_page  # noqa: E402

PAGES: dict[str, Callable[[], str]] = {
    "docs/cli.md": commands_page.page,
    "docs/options.md": options_page.page,
    "docs/python.md": python_page.page,
    "README.md": compilers_table.page,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Write the pages, or with ``--check`` say which are not what the code says: exit code 1."""
    parser = argparse.ArgumentParser(prog="docs/write_reference", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 where a page is stale")
    check = parser.parse_args(argv).check
    stale = False
    for name, made in PAGES.items():
        path, text = ROOT / name, made()
        written = path.read_text("utf-8") if path.exists() else ""
        if text == written:
            continue
        stale = True
        if check:
            lines = difflib.unified_diff(written.splitlines(), text.splitlines(), name, "what it should be", n=1)
            print(f"{name} is not what the code or the rows say; run: python docs/write_reference", file=sys.stderr)
            print("\n".join([*lines][:40]), file=sys.stderr)
        else:
            path.write_text(text, "utf-8")
            print(f"wrote {name}")
    return 1 if stale and check else 0


if __name__ == "__main__":
    sys.exit(main())
