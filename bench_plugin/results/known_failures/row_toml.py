"""Rows of known failures as TOML that people read and edit: a new row, and changes of a row line by line.

Changes leave comments, order and layout of the file as they are.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from bench_plugin.domain.axes import AXES
from bench_plugin.domain.errors import UsageError
from bench_plugin.domain.outcome import Outcome
from bench_plugin.results.known_failures.expectations import NOT_ANALYSED, Expectation
from bench_plugin.results.signature import Signature, signature_of, three_digits

TO_BE_SAID = "why this is known"  # the reason of a row that a person is to write
SEEN = 120  # characters of the observed message in the comment
HEADER = re.compile(r"^[ \t]*\[\[expectation\]\]", re.MULTILINE)
COMMENT = re.compile(r"(?:^[ \t]*#.*\n)+\Z", re.MULTILINE)  # lines of comment up to a header
SIGNATURES = ("signature", "needed")


def row_text(axes: Mapping[str, Any], outcome: Outcome, reason: str) -> str:
    """The row that would cover a failed cell, with the observed message as a comment."""
    seen = outcome.reason.strip().splitlines()
    given = {axis.name: axes[axis.name] for axis in AXES if axes.get(axis.name) not in (None, "", 0, axis.usual)}
    lines = ["[[expectation]]", *(f"{key} = {toml_value(value)}" for key, value in given.items())]
    lines += [f'stage = "{outcome.stage}"', f'symptom = "{outcome.symptom}"', f"reason = {toml_value(reason)}"]
    generated = outcome.numbers.get("signature")
    if generated:
        listed = ", ".join(toml_value(name) for name in generated["operators"])
        lines += [f"operators = [{listed}]", f"signature = {toml_value(generated['message'])}"]
    else:
        lines += signature_lines(signature_of(outcome))
    lines += [f"# seen: {seen[0][:SEEN]}"] if seen else []
    return "\n".join(lines) + "\n"


def signature_lines(signature: Signature) -> list[str]:
    """The line of a row that holds its signature; none where the failure has none."""
    if signature.needed is not None:
        return [f"needed = {toml_value(signature.needed)}"]
    return [f"signature = {toml_value(signature.text)}"] if signature.text else []


def toml_value(value: Any) -> str:
    """A text or a number (with three digits) as TOML; line breaks become spaces, other control characters escapes."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return three_digits(value)
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
    return '"' + "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in escaped) + '"'


def drop(row: Expectation) -> None:
    """Remove a row. Raises UsageError where the file's rows are not written as [[expectation]]."""
    text, start, end = _place(row)
    row.path.write_text(text[:start] + text[end:], "utf-8")


def sign(row: Expectation, signature: Signature) -> None:
    """Give a row the signature that it lacks. Raises UsageError, and leaves the file alone, where that fails."""
    _edit(row, {**dict.fromkeys(SIGNATURES), **_lines(signature)})


def rewrite(row: Expectation, outcome: Outcome) -> None:
    """Let a row say how its cells fail now, without the old reason and link. Raises UsageError as :func:`sign`."""
    lines: dict[str, str | None] = {**dict.fromkeys(SIGNATURES), **_lines(signature_of(outcome)), "link": None}
    lines |= {"stage": f'stage = "{outcome.stage}"', "symptom": f'symptom = "{outcome.symptom}"'}
    _edit(row, {**lines, "reason": f"reason = {toml_value(NOT_ANALYSED)}"})


def _lines(signature: Signature) -> dict[str, str]:
    return {line.partition(" = ")[0]: line for line in signature_lines(signature)}


def _place(row: Expectation) -> tuple[str, int, int]:
    """The text of the row's file, and where the row begins and ends in it.

    It begins with the blank lines above it and, but for the first row, with the comment that stands directly above it.
    """
    text = row.path.read_text("utf-8")
    starts: list[int] = []
    for found in HEADER.finditer(text):
        above = COMMENT.search(text, starts[-1] if starts else 0, found.start())
        starts.append(above.start() if above and starts else found.start())
    if row.number > len(starts):
        raise UsageError(f"{row.path}: rows are not written as [[expectation]]; change row {row.number} by hand")
    starts = [len(text[:start].rstrip()) + 1 if text[:start].strip() else start for start in starts]
    end = starts[row.number] if row.number < len(starts) else len(text)
    return text, starts[row.number - 1], end


def _edit(row: Expectation, lines: Mapping[str, str | None]) -> None:
    """Replace the lines of some keys of a row, remove those that are None, and add new ones behind the symptom."""
    text, start, end = _place(row)
    kept: list[str] = []
    after = 1  # the line behind which new keys go
    left = {key: line for key, line in lines.items() if line is not None}
    for line in text[start:end].splitlines():
        key = line.partition("=")[0].strip()
        if key in left:
            kept.append(left.pop(key))
        elif key not in lines or line.lstrip().startswith("#"):
            kept.append(line)
        if key == "symptom":
            after = len(kept)
    kept[after:after] = left.values()
    body = "\n".join(kept)
    changed = text[:start] + body + ("\n" if text[start:end].endswith("\n") else "") + text[end:]
    _check(row, text, changed, lines)
    row.path.write_text(changed, "utf-8")


def _check(row: Expectation, before: str, after: str, lines: Mapping[str, str | None]) -> None:
    """Raises UsageError unless the change did what it should and nothing else."""
    wanted = tomllib.loads(before)["expectation"]
    one: dict[str, Any] = wanted[row.number - 1]
    for key, line in lines.items():
        one.pop(key, None)
        if line is not None:
            one |= tomllib.loads(line)
    try:
        done = tomllib.loads(after).get("expectation") == wanted
    except tomllib.TOMLDecodeError:
        done = False
    if not done:
        told = "; ".join(line or f"no {key}" for key, line in lines.items())
        raise UsageError(f"{row.path}: row {row.number} cannot be changed line by line; write it by hand: {told}")
