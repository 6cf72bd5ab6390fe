"""Messages of tools as they can be compared: the first useful line, and that line without what varies from run to run.

Words stay whole. Names of modules, operators, dtypes and domains stay; numbers that stand alone, lists of numbers and
shapes, addresses, paths, temporary names and counters go.
"""

from __future__ import annotations

import re
from collections.abc import Collection

LONGEST = 400  # characters of a normalised message
HEADINGS = 2  # lines that only announce the next one, which are joined with it
PASSES = 9  # lists of lists of numbers take one each; the last changes nothing
NOTHING = "no reason was given"
ANYTHING = "..."  # stands for any text in a message that a person writes, and for what was cut off
# Behind the message of a generated graph that failed: many tools fail so with any operator that is given such a tensor,
# and a crash says no more than its signal.
EMPTY = "(a tensor without elements)"
CUT = f" {ANYTHING} "  # in the middle of a message that is too long, whose cause may stand at its end

# Lines that say nothing of the cause: headings and frames of tracebacks, rules, what surrounds a framework's message.
IDLE = re.compile(
    r"Traceback \(most recent call last\):?$"
    r"|(File \"|\[bt\] \(\d+\)|\d+: 0x|#\d+ +0x|\^+$|~+\^)"
    r"|[-=*~_#+ ]{3,}$"
    r"|Exception encountered when calling "  # Keras, which gives the cause below
    r"|(Exception from|Check '.*' failed at) \S+:\d+:?$"  # OpenVINO: the place; the cause is below
    r"|(During handling of|The above exception was the direct cause of)\b"
)

PATH = r"""(?:~|\.{1,2})?(?:/[\w.+@%=-]+)+/?|[A-Za-z]:\\[^\s'"`<>|,;]+"""
NUMBER = r"(?:\d[\d_]*(?:\.\d+)*(?:[eE][-+]?\d+)?|nan(?!\w)|inf(?!\w))"
DTYPE = r"(?:b?float|double|half|u?int|[su]?i|f|u|bf|bool|complex|str|string|char|byte)\d*\w*"
SIZE = rf"(?:[-+]?{NUMBER}|\?|None|-|(?!{DTYPE}\b)[a-z_]\w*)"  # of one axis; as a symbol only beside a number
NO_SIZES = re.compile(r"[^\d?]*")

TOKEN = re.compile(
    rf"""
    (?P<module>(?<=module\ named\ )(?P<q>['"`]).*?(?P=q))
  | (?P<url>\bhttps?://\S+)
  | (?P<quotedpath>(?P<r>['"`])(?:~|\.{{1,2}})?/[^'"`\n]*(?P=r))
  | (?P<path>(?<![\w.)\]}}</\#]) (?:{PATH}))
  | (?P<temporary>\btmp[a-z0-9_]{{8}}(?![A-Za-z0-9]))
  | (?P<address>\b0x[0-9a-fA-F]+\b)
  | (?P<digest>(?<![\w.])(?=[a-f-]*[0-9])(?=[0-9-]*[a-f])[0-9a-f]{{8,}}(?:-[0-9a-f]{{4,}})*(?!\w))
  | (?P<case>\btest_\w+)
  | (?P<layer>\btf(?:\.\w+?)+_(?:\d+|\#)(?=[/':]))
  | (?P<sizes>[\[({{]\ ?{SIZE}(?:\s*[,;]\s*{SIZE})*\s*,?\ ?[\])}}])
  | (?P<dims>(?<!\w)(?:\d+|\?)(?:x(?:\d+|\?))*x(?=[a-z!]))
  | (?P<product>(?<!\w)\d+(?:x\d+)+(?!\w))
  | (?P<counted>%[A-Za-z_]+\d+\b|\#\d+\b)
  | (?P<number>(?<![\w.])(?<![A-Za-z]-)[-+]?{NUMBER}(?P<unit>ms|us|ns|s|h|[KMGT]i?B|B)?(?!\w|\.\d))
  | (?P<counter>(?<!x86)_\d+(?![A-Za-z0-9]))
    """,
    re.VERBOSE,
)
# Lists of what is left of numbers and of lists of numbers.
NESTED = re.compile(r"([\[({])\s*(?:[\[({]#[\])}]|#)(?:\s*[,;]\s*(?:[\[({]#[\])}]|#))*\s*,?\s*([\])}])")
LOCATION = re.compile(r"(?<!\w)loc\(")
# Which operator a tool was converting (agent/causes.py): with one cause it fails at different ones.
OPERATOR = re.compile(r" \(while converting \w+\)")


def useful_line(text: str) -> str:
    """The first line of a message that says what is wrong; a line that ends with a colon is joined with the next.

    Frames of tracebacks, rules, and lines after which a framework gives the cause are passed over, unless there is
    nothing else. The empty text for a text without lines.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    useful = [line for line in lines if not IDLE.match(line)] or lines[:1]
    place = 0
    while place < HEADINGS and useful[place:] and useful[place].endswith(":"):
        place += 1
    return " ".join(useful[: place + 1])


def normalised(text: str, names: Collection[str] = ()) -> str:
    """The first useful line of a message without what varies, at most LONGEST characters; the same if applied again.

    ``names`` (of tensors and nodes of one model) become NAME where they are quoted, and those with a digit
    in them everywhere.
    """
    line = useful_line(text) or NOTHING
    line = _unnamed(_without_locations(OPERATOR.sub("", line)), names)
    for _ in range(PASSES):
        again = re.sub(r"\s+", " ", NESTED.sub(r"\1#\2", TOKEN.sub(_replaced, line))).strip()
        if again == line:
            break
        line = again
    if len(line) <= LONGEST:
        return line
    half = (LONGEST - len(CUT)) // 2
    head, tail = line[:half], line[-half:]
    return (head.rpartition(" ")[0] or head).rstrip(" .") + CUT + (tail.partition(" ")[2] or tail).lstrip(" .")


def matches(known: str, text: str) -> bool:
    """Whether a text is the known one, in which ``...``, with the blanks around it, stands for any text.

    Both are normalised. What is known of tensors with elements is the same failure where one has none (``EMPTY``).
    """
    parts = [re.escape(part) for part in re.split(rf"\s*{re.escape(ANYTHING)}\s*", known)]
    texts = (text, text.removesuffix(f" {EMPTY}"))
    return known in texts or any(re.fullmatch(".*".join(parts), one) is not None for one in texts)


def _replaced(found: re.Match[str]) -> str:
    kind, text = found.lastgroup, found[0]
    match kind:
        case "module" | "url":
            return text
        case "quotedpath":
            return f"{text[0]}PATH{text[0]}"
        case "path" | "temporary":
            return "PATH"
        case "case":
            return "CASE"
        case "sizes":
            return text if NO_SIZES.fullmatch(text) else f"{text[0]}#{text[-1]}"
        case "layer":  # Keras counts the layers of one process, and gives the first one no number
            return text.rpartition("_")[0]
        case "dims":
            return "#x"
        case "counted":
            return "#" if text[0] == "#" else re.sub(r"\d+$", "#", text)
        case "counter":
            return "_#"
        case _:
            return "#" + (found["unit"] or "")


def _unnamed(line: str, names: Collection[str]) -> str:
    """The line with NAME for the names of one model, and for what a tool derives from them (``r0_output``)."""
    if not names:
        return line
    known = set(names)

    def quoted(found: re.Match[str]) -> str:
        return f"{found[1]}NAME{found[1]}" if found[2] in known else found[0]

    line = re.sub(r"(['\"`])([^'\"`\n]*)\1", quoted, line)
    counted = sorted((name for name in known if re.search(r"\d", name)), reverse=True)  # ab1/c before ab1
    if not counted:
        return line
    return re.sub(rf"(?<![\w./])(?:{'|'.join(map(re.escape, counted))})(?:_\w+)?(?!\w)", "NAME", line)


def _without_locations(line: str) -> str:
    """The line without the contents of MLIR's ``loc(...)``, which name places of one model."""
    start = 0
    while found := LOCATION.search(line, start):
        start, depth = found.end(), 1
        for end in range(start, len(line)):
            depth += {"(": 1, ")": -1}.get(line[end], 0)
            if depth == 0:
                line = line[: start - 1] + line[end + 1 :]
                break
    return line
