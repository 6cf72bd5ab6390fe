"""From the help texts and docstrings of the code to Markdown."""

from __future__ import annotations

import argparse
import re
from typing import Any

LAST_DEFAULT = re.compile(r"[ ,]*\(default:? ([^()]*)\)$")
NAMED_DEFAULT = re.compile(r"(\w+) \(default")
ROLE = re.compile(r":\w+:`+~?(?:[\w.]+\.)?(\w+)`+")


def cell(text: str) -> str:
    """Text as it may stand in a cell of a table."""
    return prose(" ".join(text.split())).replace("|", "\\|").replace("<", "&lt;")


def prose(text: str) -> str:
    """What docstrings quote, as Markdown quotes it."""
    return ROLE.sub(r"`\1`", text).replace("``", "`")


def meaning(help_text: str, default: Any, shown: str = "") -> tuple[str, str]:
    """The meaning of an option and its default, from its help, in which argparse's %(default)s stands for ``default``.

    ``shown`` takes the place of a default that differs from machine to machine.
    """
    value = shown or default
    if help_text.endswith("(%(default)s)"):
        return help_text.removesuffix("(%(default)s)").strip(), str(value)
    text = help_text % {"default": value}
    if "%(default)s" in help_text:
        return LAST_DEFAULT.sub("", text), str(value)
    if match := LAST_DEFAULT.search(text) or NAMED_DEFAULT.search(text):
        return LAST_DEFAULT.sub("", text), match[1]
    return text, "" if default in (None, False, "", argparse.SUPPRESS) or default == [] else str(default)
