"""Whether a compiler takes a node, and on which evidence.

supported  cases of this operator, version and types passed, none failed that asks for no more than the node does, and
           all that the node asks for is in one that passed; or the tool's own list has it, or this model was compiled
           and passed
partial    some of these cases passed and others failed; or not all that the node asks for is proven, such as its types
unsupported  every such case failed, the tool's own list lacks it, or the declaration excludes the file
unknown    nothing is known
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from bench_plugin.characterise.compliance.cases import Tried
from bench_plugin.characterise.compliance.evidence import Evidence
from bench_plugin.characterise.compliance.features import concerns, unproven
from bench_plugin.characterise.compliance.schemas import DEFAULT_DOMAIN, Schemas, Signature

SHOWN = 3  # cases that are named, at most


class Compliance(StrEnum):
    """What is known of a node and a compiler."""

    SUPPORTED = "supported"
    PARTIAL = "partial"
    UNKNOWN = "unknown"
    UNSUPPORTED = "unsupported"


class Kind(StrEnum):
    """The kinds of evidence, the strongest last."""

    NONE = ""
    DECLARED = "declared"
    PROVEN = "proven"
    COMPILED = "compiled"


@dataclass(frozen=True)
class Finding:
    """The verdict on a signature: its evidence, why in words, and the cases or rows that show it (some of them)."""

    status: Compliance
    evidence: Kind
    why: str
    shown: tuple[str, ...] = ()


@dataclass(frozen=True)
class Asked:
    """What is asked of a compiler: a signature in a file of an opset and of ``size`` bytes, of a model with that name.

    ``operator`` is the node's, for one that ONNX does not have (``signature`` is None then).
    """

    signature: Signature | None
    operator: str
    domain: str
    opset: int
    model: str = ""
    size: int = 0


def judged(asked: Asked, evidence: Evidence, schemas: Schemas) -> Finding:
    """The verdict on one signature, by the rules above."""
    if "onnx" not in evidence.takes:
        sources = ", ".join(evidence.takes) or "nothing"
        return Finding(Compliance.UNSUPPORTED, Kind.DECLARED, f"it compiles from {sources}, not from ONNX files")
    same = [one for one in evidence.compiled if asked.size and (one.model, one.size) == (asked.model, asked.size)]
    if same:
        keys = tuple(one.key for one in same[:SHOWN])
        return Finding(Compliance.SUPPORTED, Kind.COMPILED, "this model was compiled and its results agreed", keys)
    found = _listed(asked, evidence, _proven(asked, evidence, schemas))
    return _limited(asked, evidence, _with_models(asked, evidence, schemas, found))


def _proven(asked: Asked, evidence: Evidence, schemas: Schemas) -> Finding:
    signature = asked.signature
    if signature is None:
        return Finding(Compliance.UNKNOWN, Kind.NONE, f"ONNX has no {asked.domain}.{asked.operator} at this opset")
    place = (signature.domain, signature.operator)
    cases = [one for one in evidence.cases.get(place, ()) if one.decided]
    alone = [one for one in cases if one.alone]
    exact = [one for one in alone if _exact(signature, one, schemas)]
    if any(one.passed or _concerns(signature, one) for one in exact):
        return _counted(signature, exact, evidence)
    beside = [one for one in cases if not one.alone and one.passed and _exact(signature, one, schemas)]
    if beside:
        why = f"{len(beside)} graphs with {signature.text} and other operators passed; none with it alone was tried"
        return Finding(Compliance.SUPPORTED, Kind.PROVEN, why, _names(beside))
    if alone:
        return _others(signature, alone, evidence, asked_more=bool(exact))
    return Finding(Compliance.UNKNOWN, Kind.NONE, f"no case of {signature.name} was decided")


def _exact(signature: Signature, case: Tried, schemas: Schemas) -> bool:
    return any(schemas.alike(signature, one) and signature.agrees(one) for one in case.signatures)


def _concerns(signature: Signature, case: Tried) -> bool:
    """Whether a case of one node asks for nothing that the signature does not ask for."""
    return concerns(signature.features, case.signatures[0].features)


def _counted(signature: Signature, exact: Sequence[Tried], evidence: Evidence) -> Finding:
    """The verdict where cases of this operator, version and types were tried."""
    passed = [one for one in exact if one.passed]
    failed = [one for one in exact if not one.passed and _concerns(signature, one)]
    others = len(exact) - len(passed) - len(failed)
    of = f"{len(passed)} of {len(passed) + len(failed)} cases of {signature.text} passed"
    if others:
        of += f" ({others} more failed that ask for what this node does not)"
    if failed:
        status = Compliance.PARTIAL if passed else Compliance.UNSUPPORTED
        return Finding(status, Kind.PROVEN, f"{of}: {_reason(failed, evidence)}", _names(failed))
    missing = unproven(signature.features, (one.signatures[0].features for one in passed))
    if missing:
        why = f"{of}, none of them with {', '.join(missing).replace('_', ' ')}"
        return Finding(Compliance.PARTIAL, Kind.PROVEN, why, _names(passed))
    return Finding(Compliance.SUPPORTED, Kind.PROVEN, of, _names(passed))


def _others(signature: Signature, tried: Sequence[Tried], evidence: Evidence, *, asked_more: bool) -> Finding:
    """The verdict where only other versions or types of the operator were tried, or where cases failed that
    ``asked_more`` of it than the node does.
    """
    passed = [one for one in tried if one.passed]
    if passed:
        known = ", ".join(dict.fromkeys(one.signatures[0].text for one in passed))
        return Finding(Compliance.PARTIAL, Kind.PROVEN, f"proven for {known}, not for {signature.text}", _names(passed))
    if not asked_more and all(one.status == "unsupported" for one in tried):
        why = f"every case of {signature.operator}, of other types or versions, failed: {_reason(tried, evidence)}"
        return Finding(Compliance.UNSUPPORTED, Kind.PROVEN, why, _names(tried))
    more = "ask for what this node does not" if asked_more else "are of other types or versions"
    why = f"no case of {signature.text} passed; those that failed {more}: {_reason(tried, evidence)}"
    return Finding(Compliance.UNKNOWN, Kind.PROVEN, why, _names(tried))


def _listed(asked: Asked, evidence: Evidence, found: Finding) -> Finding:
    """The verdict with the tool's own list, where the suite has none: ``found`` is the suite's."""
    if evidence.listed is None or found.status is not Compliance.UNKNOWN:
        return found
    name = asked.operator if asked.domain == DEFAULT_DOMAIN else f"{asked.domain}.{asked.operator}"
    if name in evidence.listed:
        return Finding(Compliance.SUPPORTED, Kind.DECLARED, f"{evidence.source} has {name}; {found.why}")
    return Finding(Compliance.UNSUPPORTED, Kind.DECLARED, f"{evidence.source} does not have {name}")


def _with_models(asked: Asked, evidence: Evidence, schemas: Schemas, found: Finding) -> Finding:
    """The verdict with other models: one that holds the operator at the same version, and passed, is no proof of every
    use of it, but it shows that the tool takes it.
    """
    if found.status not in (Compliance.UNKNOWN, Compliance.UNSUPPORTED) or asked.signature is None:
        return found
    version = asked.signature.version
    shown = []
    for one in evidence.compiled:
        schema = schemas.at(asked.domain, asked.operator, one.opset)
        if asked.operator in one.operators and schema is not None and schema.version == version:
            shown.append(one)
    if not shown:
        return found
    models = ", ".join(dict.fromkeys(one.model for one in shown))
    why = f"models with {asked.signature.name} were compiled and passed: {models}; {found.why}"
    return Finding(Compliance.PARTIAL, Kind.COMPILED, why, tuple(one.key for one in shown[:SHOWN]))


def _limited(asked: Asked, evidence: Evidence, found: Finding) -> Finding:
    """The verdict where the declaration excludes the file's opset: at most partial, where such files passed."""
    why = evidence.beyond(asked.opset)
    if not why or found.status is Compliance.UNSUPPORTED:
        return found
    if passed := evidence.passed_at(asked.opset):
        status = Compliance.PARTIAL if found.status is Compliance.SUPPORTED else found.status
        return Finding(status, found.evidence, f"{why}, though {passed} such cases passed; {found.why}", found.shown)
    return Finding(Compliance.UNSUPPORTED, Kind.DECLARED, why)


def _reason(failed: Sequence[Tried], evidence: Evidence) -> str:
    """The known causes of these failures; the statuses where there is none."""
    known = list(dict.fromkeys(evidence.reasons[one.name] for one in failed if evidence.reasons.get(one.name)))
    more = f"; and {len(known) - 1} more causes" if len(known) > 1 else ""
    return known[0] + more if known else ", ".join(dict.fromkeys(one.status for one in failed))


def _names(cases: Sequence[Tried]) -> tuple[str, ...]:
    return tuple(one.name for one in cases[:SHOWN])
