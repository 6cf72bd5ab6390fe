"""What a failure comes from: the tool itself, or the environment, such as memory, disk, network and absent programs.

A failure of the tool depends on the call alone and comes again; one of the environment may be gone tomorrow. Nothing
that is not known to be the tool's may be stored after a single attempt.
"""

from __future__ import annotations

import os
import re
import subprocess
from types import TracebackType
from typing import Dict, Iterable, Iterator, List, Mapping, Optional, Pattern

from bench_plugin.agent.adapter import InvalidModel, NotProvided, Unsupported, VersionSkew, type_names

TOOL, ENVIRONMENT, UNKNOWN = "tool", "environment", ""

OURS = "bench_plugin."  # the agent and the adapters, see modules.py
MOST = 16  # exceptions of one chain that are looked at
FULL_BYTES = 1 << 20  # a disk with less than this is full
SAID = (Unsupported, InvalidModel, VersionSkew)  # what an adapter says of the tool, instead of an exception of the tool
OUTSIDE = (OSError, MemoryError, ImportError, subprocess.TimeoutExpired, NotProvided)

# What a machine runs out of, and what ends a process from outside: also in the last lines of a process that crashed.
RESOURCES: Dict[str, Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "memory": r"bad_alloc|bad allocation|([Cc]an ?not|can't) allocate memory|not enough memory|\bMemoryError\b"
        r"|Unable to allocate .* for an array",
        "disk": r"No space left on device|Disk quota exceeded|File too large",
        "open files": r"Too many open files",
        "processes": r"Resource temporarily unavailable|can't start new thread|pthread_create",
        "device": r"Input/output error|Stale file handle",
        "signal from outside": r"(killed|ended) by SIG(KILL|TERM|INT|HUP|QUIT|XCPU|XFSZ)\b",
    }.items()
}
# What a machine lacks or forbids, and what it cannot reach.
SURROUNDINGS: Dict[str, Pattern[str]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "program": r"not found; install|command not found",
        "file": r"No such file or directory",
        "library": r"cannot open shared object file|error while loading shared libraries",
        "module": r"ModuleNotFoundError: |ImportError: ",  # the last line of a program's traceback
        "permission": r"Permission denied|Operation not permitted",
        "read-only": r"Read-only file system",
        "busy": r"Text file busy",
        "name": r"Temporary failure in name resolution|Name or service not known|[Cc]ould not resolve host|getaddrinfo",
        "connection": r"(?i)connection (was )?(refused|reset|aborted|broken|timed out)|(read|operation) timed out",
        "network": r"Network is unreachable|No route to host|CERTIFICATE_VERIFY_FAILED|Max retries exceeded",
    }.items()
}


def missing_resource(text: str) -> str:
    """The name of the row of RESOURCES that the text speaks of; empty where it speaks of none."""
    return _row(RESOURCES, text)


def environment_of(text: str) -> str:
    """The name of the row of either table that the text speaks of; empty where it speaks of none."""
    return missing_resource(text) or _row(SURROUNDINGS, text)


def resource_below(message: str) -> str:
    """The words in which a message tells what the machine ran out of, where its first line does not; else empty.

    The first line is what a table shows: of a compiler that a tool calls it says that it failed, and not why.
    """
    first, _, rest = message.partition("\n")
    if missing_resource(first):
        return ""
    return next((found[0] for pattern in RESOURCES.values() for found in [pattern.search(rest)] if found), "")


def out_of_memory(error: BaseException) -> bool:
    """Whether the exception, or one that it comes from, is an allocation that was refused."""
    return any(isinstance(one, MemoryError) or _row(RESOURCES, text_of(one)) == "memory" for one in chain(error))


def cause_of(error: BaseException, declared: Iterable[Mapping[str, str]]) -> str:
    """TOOL, ENVIRONMENT or UNKNOWN for an exception of an adapter; ``declared`` are the rows of ADAPTER's ``errors``.

    Unsupported, InvalidModel and VersionSkew are the tool's, unless they speak of the environment.
    """
    found = list(chain(error))
    if any(environment_of(text_of(one)) for one in found):
        return ENVIRONMENT
    if isinstance(error, SAID):  # a tool may say by the absence of a module that it lacks an operator
        outside = any(isinstance(one, (OSError, MemoryError)) for one in found)
        return ENVIRONMENT if outside else TOOL
    if any(isinstance(one, OUTSIDE) for one in found):
        return ENVIRONMENT
    rows = list(declared)
    return TOOL if any(_declares(row, one) for row in rows for one in found) else UNKNOWN


def short_of_disk(folder: str, needed: int) -> str:
    """What the disk of a folder lacks for files of ``needed`` bytes, as a clause; empty where there is room.

    Many tools do not say why they could not write, and remove what they wrote in part. A disk with less room than the
    files of the call have bytes is therefore taken for the cause, too. Empty where the system does not tell.
    """
    try:
        disk = os.statvfs(folder)
    except (AttributeError, OSError):
        return ""
    left = disk.f_bavail * disk.f_frsize
    if left < FULL_BYTES:
        return "the disk of the agent's folder is full"
    if left < needed:
        text = "the disk of the agent's folder has %d MB left, and the files of the call have %d MB"
        return text % (left >> 20, needed >> 20)
    return ""


def _row(table: Mapping[str, Pattern[str]], text: str) -> str:
    return next((name for name, pattern in table.items() if pattern.search(text)), "")


def chain(error: BaseException) -> Iterator[BaseException]:
    """The exception and those that it was raised from, each once; not those that were only handled before."""
    seen: List[BaseException] = []
    one: Optional[BaseException] = error
    while one is not None and len(seen) < MOST and all(one is not other for other in seen):
        seen.append(one)
        yield one
        one = one.__cause__


def text_of(error: BaseException) -> str:
    """The text of an exception; empty where it cannot say what it is."""
    try:
        return str(error)
    except Exception:  # whatever its __str__ raises
        return ""


def _declares(row: Mapping[str, str], error: BaseException) -> bool:
    """Whether every condition of the row holds of the exception."""
    kind = row.get("exception", "")
    if kind and all(name.rpartition(".")[2] != kind for name in type_names(error)):
        return False
    if row.get("package") and not _from_package(row["package"], error):
        return False
    return re.search(row.get("pattern", ""), text_of(error)) is not None


def _from_package(package: str, error: BaseException) -> bool:
    """Whether the package defines the exception's type, or was at work below the adapter when it was raised.

    Compiled modules raise built-in types, and leave no frames of their own below those of their package.
    """
    modules = [type(error).__module__]
    below: List[str] = []
    trace: Optional[TracebackType] = error.__traceback__
    while trace is not None:
        name = str(trace.tb_frame.f_globals.get("__name__", ""))
        below = [] if name.startswith(OURS) else [*below, name]
        trace = trace.tb_next
    return any(name == package or name.startswith(package + ".") for name in modules + below)


# What tools write around the cause: places in MLIR, a layer of Keras, code that TensorFlow traced (there may be a layer
# within), a function of C++ with its signature, and the arguments of a call in TVM, which may end with a remark.
MLIR = re.compile(r"^.*?error: loc\(.*\): (?=')")
LAYER = re.compile(r"^Exception encountered when calling layer .*\(type (\w+)\)\.\s+(\S.*)")
TRACED = re.compile(
    r"^in user code:\n(?:.*\n)*? {4}(?!File )[A-Za-z_][\w.]*: "
    r"(?:Exception encountered when calling layer .*\(type \w+\)\.\s+)?(\S.*)",
    re.MULTILINE,
)
NATIVE = re.compile(r"(?<!\w)/\S+:\d+ [^(\n]*\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)(?: const)? ")
CALL = re.compile(r"(?<= )(R\.[\w.]+)\([^\n]*\)\n# Metadata omitted\.[^\n]*? to show it\.(?= )")
OFFENDING = re.compile(r"\nOffending call:\n(R\.[\w.]+)\(")


def told(text: str) -> str:
    """A message with what is wrong in its first line; where a tool wrote more around it, that comes behind it."""
    first, _, _ = CALL.sub(r"\1(...)", text, count=1).partition("\n")
    offending = OFFENDING.match(text, len(first))
    if offending:
        first = "%s (%s)" % (first, offending.group(1))
    layer, traced = LAYER.match(text), TRACED.search(text)
    if layer or traced:
        cause = traced.group(1) if traced else layer.group(2) if layer else first
        place = " (in a layer of type %s)" % layer.group(1) if layer else ""
        return "%s%s\n%s" % (cause, place, text)
    useful = NATIVE.sub("", MLIR.sub("", first))
    return text if useful == text.partition("\n")[0] else "%s\n%s" % (useful, text)


def at_operator(message: str, operator: str) -> str:
    """The message, whose first line names the operator that was being converted, unless it does so by itself.

    ``normalised`` (domain/texts/messages.py) leaves it out: with one cause a tool fails at different operators.
    """
    first, newline, rest = message.partition("\n")
    if not operator or re.search(r"\b%s\b" % re.escape(operator), first):
        return message
    return "%s (while converting %s)%s%s" % (first, operator, newline, rest)
