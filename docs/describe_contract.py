"""Writes docs/contract.md from the types that adapters are called with: ``python docs/describe_contract.py``.

``--check`` says whether the committed page is that of the code; it ends with 1 when it is not.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from bench_plugin.agent.contract.describe import describe

PAGE = Path(__file__).with_name("contract.md")
HEAD = """# The contract of adapters

What an agent calls, with which fields, and what it expects in return. This page is made from the types themselves:
`python docs/describe_contract.py`. Complete adapters to start from, and the keys of `ADAPTER`, are in
[your-own.md](your-own.md).

"""


def main() -> int:
    """Write the page, or compare it; returns the exit code."""
    parser = argparse.ArgumentParser(description="Write docs/contract.md from the types of the adapters' contract.")
    parser.add_argument("--check", action="store_true", help="write nothing; end with 1 when the page is stale")
    arguments = parser.parse_args()
    text = HEAD + describe()
    if not arguments.check:
        PAGE.write_text(text, "utf-8")
    elif not PAGE.is_file() or PAGE.read_text("utf-8") != text:
        print("docs/contract.md is stale; run: python docs/describe_contract.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
