"""ONNX's operators by version, and the signature of a node: its operator, its version and the types it is used with."""

from __future__ import annotations

import csv
import io
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bench_plugin.characterise.compliance.features import features_of
from bench_plugin.characterise.facts import Facts, Node

COLUMNS = ("domain", "operator", "version", "like", "inputs", "outputs", "defaults")
FIXED = "-"  # in the place of a type variable: the type is always the same one
MORE = "*"  # behind the last one: any number of such inputs
DEFAULT_DOMAIN = "ai.onnx"


@dataclass(frozen=True)
class Schema:
    """One version of an operator.

    ``inputs`` and ``outputs`` have the name of the type variable of each, FIXED for one of a fixed type. ``like`` is
    the oldest version that has the same attributes with the same defaults, and the same inputs and outputs.
    ``defaults`` are those of attributes that are numbers or texts, as text by name.
    """

    domain: str
    operator: str
    version: int
    like: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    defaults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Signature:
    """An operator at one version with the types of its type variables, as far as they are known.

    ``features`` are what a node asks of the operator beside that (:mod:`features`).
    """

    domain: str
    operator: str
    version: int
    types: tuple[tuple[str, str], ...]
    features: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Operator and version.

        >>> Signature("ai.onnx.ml", "Scaler", 1, ()).name
        'ai.onnx.ml.Scaler-1'
        """
        prefix = "" if self.domain == DEFAULT_DOMAIN else f"{self.domain}."
        return f"{prefix}{self.operator}-{self.version}"

    @property
    def text(self) -> str:
        """As people read it.

        >>> Signature("ai.onnx", "Gather", 13, (("T", "float"), ("Tind", "int64"))).text
        'Gather-13 (T float, Tind int64)'
        """
        types = ", ".join(f"{variable} {dtype}" for variable, dtype in self.types)
        return f"{self.name} ({types})" if types else self.name

    @property
    def code(self) -> str:
        """As the table of signatures holds it; :func:`read_signature` reads it back.

        >>> Signature("ai.onnx", "Gather", 13, (("T", "float"), ("Tind", "int64")), ("axis", "rank=2")).code
        'Gather@13:T=float,Tind=int64:axis,rank=2'
        """
        types = ",".join(f"{variable}={dtype}" for variable, dtype in self.types)
        domain = "" if self.domain == DEFAULT_DOMAIN else f"{self.domain}/"
        return f"{domain}{self.operator}@{self.version}:{types}:{','.join(self.features)}"

    def agrees(self, other: Signature) -> bool:
        """Whether no type that both know differs, and both know one, or the operator has none."""
        mine, others = dict(self.types), dict(other.types)
        both = mine.keys() & others.keys()
        return all(mine[name] == others[name] for name in both) and bool(both or not (mine or others))


def read_signature(code: str) -> Signature:
    """The signature that a code stands for.

    Raises ValueError for a text that is none.
    """
    place, types, features = code.split(":")
    domain, _, rest = place.rpartition("/")
    operator, _, version = rest.partition("@")
    pairs = (pair.partition("=") for pair in types.split(",") if pair)
    known = tuple((name, dtype) for name, _, dtype in pairs)
    return Signature(domain or DEFAULT_DOMAIN, operator, int(version), known, tuple(filter(None, features.split(","))))


class Schemas:
    """All versions of all operators of one release of ONNX."""

    def __init__(self, schemas: Iterable[Schema]) -> None:
        self._of: dict[tuple[str, str], list[Schema]] = {}
        for schema in sorted(schemas, key=lambda one: one.version):
            self._of.setdefault((schema.domain, schema.operator), []).append(schema)

    def at(self, domain: str, operator: str, opset: int) -> Schema | None:
        """The version of an operator that a file of that opset uses; None where there is no such operator."""
        versions = self._of.get((domain, operator), [])
        place = bisect_right([one.version for one in versions], opset)
        return versions[place - 1] if place else None

    def alike(self, one: Signature, other: Signature) -> bool:
        """Whether two signatures are of versions of one operator with the same interface."""
        first = self.at(one.domain, one.operator, one.version)
        second = self.at(other.domain, other.operator, other.version)
        same = (one.domain, one.operator) == (other.domain, other.operator)
        return same and first is not None and second is not None and first.like == second.like

    def signature(self, node: Node, facts: Facts) -> Signature | None:
        """The signature of a node of a file; None for an operator that ONNX does not have at the file's opset."""
        schema = self.at(node.domain, node.operator, facts.opsets.get(node.domain, 0))
        if schema is None:
            return None
        types: dict[str, str] = {}
        for names, variables in ((node.inputs, schema.inputs), (node.outputs, schema.outputs)):
            for name, variable in zip(names, _repeated(variables), strict=False):
                dtype = facts.tensor(name).dtype if name else ""
                if variable != FIXED and dtype:
                    types.setdefault(variable, dtype)
        features = features_of(node, facts, schema.defaults)
        return Signature(node.domain, node.operator, schema.version, tuple(sorted(types.items())), features)


def read_schemas(text: str) -> Schemas:
    """The table of operators, ``schemas.csv``. Raises ValueError or KeyError for a text that is no such table."""
    return Schemas(
        Schema(
            row["domain"], row["operator"], int(row["version"]), int(row["like"]), tuple(row["inputs"].split()),
            tuple(row["outputs"].split()), _defaults(row["defaults"]),
        )
        for row in csv.DictReader(io.StringIO(text))
    )  # fmt: skip


def schemas_text(rows: Sequence[Mapping[str, object]]) -> str:
    """The text of ``schemas.csv`` from what the agent says of ONNX's operators."""
    lines = [",".join(COLUMNS)]
    for row in rows:
        parts = (row["domain"], row["operator"], row["version"], row["like"], _joined(row, "inputs"),
                 _joined(row, "outputs"), _written(row["defaults"]))  # fmt: skip
        lines.append(",".join(map(str, parts)))
    return "\n".join(lines) + "\n"


def _defaults(text: str) -> dict[str, str]:
    return {name: value for name, _, value in (part.partition("=") for part in text.split())}


def _written(defaults: object) -> str:
    """The defaults as text; those that no table of words and commas can hold are left out."""
    found = defaults if isinstance(defaults, Mapping) else {}
    return " ".join(f"{name}={value}" for name, value in found.items() if re.fullmatch(r"[\w.+-]+", str(value)))


def _joined(row: Mapping[str, object], key: str) -> str:
    names = row[key]
    return " ".join(names) if isinstance(names, list) else ""


def _repeated(variables: Sequence[str]) -> Iterator[str]:
    """The variables in their order, the last one without end where it stands for any number."""
    for variable in variables:
        name = variable.removesuffix(MORE)
        yield name
        while variable.endswith(MORE):
            yield name
