"""Secrets and broken characters in texts of a run: what is written and shown holds neither.

A secret is the value of an option, a variable or a key whose name says so, a credential in a URL or a header, a key
with one of the usual prefixes, and the value of an environment variable with such a name. It becomes ``***``. Half a
character (a lone surrogate, as Python makes one from a byte that is not UTF-8) becomes its escape, such as ``\\udce9``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import cache, lru_cache
from typing import Any, TypeVar, cast

MASK = "***"
SHORT = 200  # characters of a text whose masked form is remembered
SHORTEST = 8  # characters of a variable's value: a shorter one may stand in any text by chance
WORDS = (
    r"(?:token|secret|passw(?:or)?d|passphrase|api[_-]?key|(?:access|private|signing|secret)[_-]?key|credentials?|auth)"
)
# A name that ends in one of these, such as hf_token, --api-key, fakec.password; not tokens, author, token_type_ids.
NAME = rf"(?<![\w.-])[\w.-]{{0,60}}?{WORDS}(?![\w.-])"
# A name that has one of these anywhere, for variables of the environment; not TOKENIZERS_PARALLELISM.
VARIABLE = re.compile(
    r"token(?!iz)|secret|passw|passphrase|api_?key|(?:access|private|signing)_?key|credential|"
    r"(?:^|_)auth(?:_|$|token)|_pat$",
    re.IGNORECASE,
)
QUOTED = r"\"[^\"]*\"|'[^']*'"
# Every quantifier has a bound or begins where a word does: a text of 200 kB takes milliseconds.
SECRETS = tuple(
    re.compile(pattern, flags)
    for pattern, flags in (
        (rf"(?P<kept>{NAME}=)(?:{QUOTED}|[^\s\"'&,;()\[\]{{}}]+)", re.IGNORECASE),
        (rf"(?P<kept>(?<!\S)(?=-){NAME}\s+)(?!-)\S+", re.IGNORECASE),
        (rf"(?P<kept>[\"']{NAME}[\"']\s*:\s*)(?:{QUOTED})", re.IGNORECASE),
        (r"(?P<kept>\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,200}:)[^\s/@]{1,500}(?=@)", re.IGNORECASE),
        (r"(?P<kept>\bAuthorization: *(?:Basic|Bearer|Token) +)\S+", re.IGNORECASE),
        (r"(?P<kept>\bBearer +)[\w.~+/=-]{8,}", 0),
        (
            r"(?P<kept>(?<![\w-]))(?:gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|"
            r"hf_[A-Za-z0-9]{16,}|pypi-[\w-]{16,}|npm_\w{16,}|xox[abeoprs]-[\w-]{10,}|(?:AKIA|ASIA)[0-9A-Z]{16}\b|"
            r"AIza[\w-]{30,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+)",
            0,
        ),
        (r"(?P<kept>-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(?:(?=-----END)|\Z)", 0),
    )
)
# A text in small letters without any of these has none of the above. Most texts of a run are such, and words are found
# fifty times as fast as a pattern.
SUSPECT = (
    "token", "secret", "passw", "passphrase", "key", "credential", "auth", "bearer", "://", "ghp_", "gho_", "ghu_",
    "ghs_", "ghr_", "github_pat", "glpat", "sk-", "hf_", "pypi-", "npm_", "xox", "akia", "asia", "aiza", "eyj",
)  # fmt: skip
OPTION = re.compile(rf"(?=-){NAME}", re.IGNORECASE)
KEY = re.compile(NAME, re.IGNORECASE)
# Keys of rows that identify a cell or its verdict: nothing in them is masked.
STRUCTURE = frozenset({"kind", "key", "run", "cell", "check", "status", "result", "stage", "symptom", "nodeid"})

T = TypeVar("T")


def readable(text: str) -> str:
    """The text with the escape of every half character, so that it can be written as UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def masked(text: str) -> str:
    """A text without secrets and half characters."""
    return _short(text) if len(text) <= SHORT else _masked(text)


def _masked(text: str) -> str:
    text = readable(text)
    small = text.lower()
    if any(word in small for word in SUSPECT):
        for pattern in SECRETS:
            text = pattern.sub(rf"\g<kept>{MASK}", text)
    for value in _values():
        text = text.replace(value, MASK)
    return text


_short = lru_cache(maxsize=1 << 14)(_masked)  # names, versions and units stand in every row


def clean(value: T) -> T:
    """Plain data, or a record of it, without secrets and half characters, in values and in keys."""
    found: Any = value
    if isinstance(value, str) and not isinstance(value, Enum):
        found = masked(value)
    elif isinstance(value, Mapping):
        found = {_name(key): _valued(key, item) for key, item in value.items()}
    elif isinstance(value, list | tuple):
        items = _listed(value)
        found = list(items) if isinstance(value, list) else tuple(items)
    elif is_dataclass(value) and not isinstance(value, type):
        found = replace(value, **{one.name: clean(getattr(value, one.name)) for one in fields(value)})
    return cast(T, found)


def _name(key: Any) -> Any:
    return readable(key) if isinstance(key, str) else key


def _valued(key: Any, value: Any) -> Any:
    """The value of a key of a table."""
    if key in STRUCTURE:
        return _escaped(value)
    secret = value and isinstance(value, str) and isinstance(key, str) and _names_a_secret(key)
    return MASK if secret else clean(value)


@lru_cache(maxsize=1 << 12)  # the same names stand in every row
def _names_a_secret(key: str) -> bool:
    return KEY.fullmatch(key) is not None


def _escaped(value: Any) -> Any:
    """Data with nothing masked, but without half characters."""
    if isinstance(value, Mapping):
        return {_name(key): _escaped(item) for key, item in value.items()}
    return readable(value) if isinstance(value, str) and not isinstance(value, Enum) else value


def _listed(values: Iterable[Any]) -> Iterable[Any]:
    """The items of a list; in the words of a command, the one after ``--x-token`` is its value."""
    before: Any = None
    for value in values:
        secret = isinstance(before, str) and isinstance(value, str) and OPTION.fullmatch(before)
        yield MASK if secret and not value.startswith("-") else clean(value)
        before = value


@cache
def _values() -> tuple[str, ...]:
    """The values of the environment's variables that hold secrets, the longest first; a path is none."""
    found = {value for name, value in os.environ.items() if VARIABLE.search(name)}
    secrets = (readable(value) for value in found if len(value) >= SHORTEST and not os.path.exists(value))
    return tuple(sorted(secrets, key=len, reverse=True))
