"""Candidates made whole: predictions beside and in the place of what was not measured, accuracies, and names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from bench_plugin.characterise.choice.candidate import BY_NAME, Basis, Candidate, Figure
from bench_plugin.characterise.choice.constraints import RIGHT
from bench_plugin.characterise.choice.predictions import Prediction, best_match

SETTINGS = ("kept", "mode", "batch", "threads", "streams")  # rows leave them out where they are as usual
APART = ("framework", "exporter", "opset", "graph", "host")  # what a name says only where it is needed
ANOTHER = ("accuracy", "drop")  # what does not depend on where a model runs, as far as its outputs agree

Facts = Callable[[str], tuple[Mapping[str, Figure], Mapping[str, tuple[str, ...]]]]


def completed(
    measured: Sequence[Candidate], predictions: Sequence[Prediction], facts: Facts, references: Mapping[str, float]
) -> list[Candidate]:
    """All candidates, each with a name of its own.

    ``facts`` gives the published figures and the attributes of a target, ``references`` the accuracy of a framework's
    own model by model and framework, from rows. A prediction of a place where something was measured stands beside it;
    every other prediction is a candidate. An accuracy that is not known of a candidate is that of the same model and
    precision elsewhere, the lowest one that is right.
    """
    whole = [_with_drop(_with_prediction(one, predictions), references) for one in measured]
    taken = {id(found) for one in measured if (found := best_match(predictions, one.places)) is not None}
    for one in {tuple(sorted(one.places.items())): one for one in predictions}.values():
        if id(one) not in taken:
            figures, attributes = facts(one.places["target"])
            whole.append(Candidate("", one.places, {**figures, **one.figures}, attributes))
    lowest = _lowest(whole)
    return with_names([_with_accuracy(one, lowest) for one in whole])


def with_names(found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with names that tell them apart, as short as they can be."""
    several = len({one.places.get("model", "") for one in found}) > 1
    names = [_name(one.places, several) for one in found]
    groups: dict[str, list[Candidate]] = {}
    for name, one in zip(names, found, strict=True):
        groups.setdefault(name, []).append(one)
    return [replace(one, name=_apart(name, one, groups[name])) for name, one in zip(names, found, strict=True)]


def _name(places: Mapping[str, str], with_model: bool) -> str:
    words = [places["model"]] if with_model else []
    words += [places.get("compiler") or "any compiler"]
    words += list(dict.fromkeys(places[axis] for axis in ("precision", "graph") if places.get(axis)))
    settings = [f"{axis} {places[axis]}" for axis in SETTINGS if places.get(axis)]
    return ", ".join([f"{' '.join(words)} on {places.get('target', 'local')}", *settings])


def _apart(name: str, one: Candidate, group: Sequence[Candidate]) -> str:
    """The name with as many axes as it takes to tell the candidate from the others of its group."""
    words, rest = [name], list(group)
    for axis in APART:
        value = one.places.get(axis, "")
        others = [other for other in rest if other.places.get(axis, "") == value]
        if len(others) < len(rest):
            words.append(f"{axis} {value}" if value else f"no {axis}")
        rest = others
    return ", ".join(words)


def _with_prediction(one: Candidate, predictions: Sequence[Prediction]) -> Candidate:
    """Predicted figures beside the measured ones, and in the place of those that are missing."""
    found = best_match(predictions, one.places)
    if found is None:
        return one
    return replace(one, predicted=found.figures, figures={**found.figures, **one.figures})


def _with_drop(one: Candidate, references: Mapping[str, float]) -> Candidate:
    """The drop of a candidate whose accuracy alone is known, against the framework's own model."""
    reference = references.get(f"{one.places.get('model')} {one.places.get('framework')}")
    accuracy = one.figures.get("accuracy")
    if "drop" in one.figures or accuracy is None or reference is None:
        return one
    drop = Figure(reference - accuracy.value, accuracy.basis, f"{accuracy.source}, against {reference:.4f}")
    return replace(one, figures={**one.figures, "drop": drop})


def _lowest(found: Iterable[Candidate]) -> dict[tuple[str, ...], dict[str, Figure]]:
    """The worst accuracy and drop of each model and precision among what is right."""
    worst: dict[tuple[str, ...], dict[str, Figure]] = {}
    for one in found:
        for name in ANOTHER if one.status == RIGHT else ():
            figure, good = one.figures.get(name), BY_NAME[name].goodness
            kept = worst.setdefault(_task(one.places), {})
            if figure is not None and (name not in kept or good(figure.value) < good(kept[name].value)):
                kept[name] = Figure(figure.value, Basis.ELSEWHERE, f"{figure.source}: {_name(one.places, False)}")
    return worst


def _with_accuracy(one: Candidate, lowest: Mapping[tuple[str, ...], Mapping[str, Figure]]) -> Candidate:
    return replace(one, figures={**lowest.get(_task(one.places), {}), **one.figures})


def _task(places: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(places.get(axis, "") for axis in ("model", "precision", "kept"))
