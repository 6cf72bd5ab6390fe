"""Candidates made whole: predictions beside and in the place of what was not measured, accuracies, and names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from bench_plugin.characterise.choice.candidate import BY_NAME, Basis, Candidate, Figure
from bench_plugin.characterise.choice.constraints import RIGHT
from bench_plugin.characterise.choice.predictions import Prediction, best_match

# What a name says only where it tells candidates apart, in this order. A prediction has none of the first ones; the
# others are left out where they are as usual.
SOURCES = ("framework", "exporter", "opset", "host")
SETTINGS = ("model", "kept", "mode", "batch", "threads", "streams")
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
    for one in predictions:
        if id(one) not in taken:
            figures, attributes = facts(one.places["target"])
            whole.append(Candidate("", one.places, {**figures, **one.figures}, attributes))
    lowest = _lowest(whole)
    return with_names([_with_accuracy(one, lowest) for one in whole])


def with_names(found: Sequence[Candidate]) -> list[Candidate]:
    """The candidates with names that tell them apart: what is the same of all is left out."""
    compiled = [one for one in found if one.places.get("compiler")]
    varied = [axis for axis in SETTINGS if len({one.places.get(axis, "") for one in found}) > 1]
    varied += [axis for axis in SOURCES if len({one.places.get(axis, "") for one in compiled}) > 1]
    return [replace(one, name=_name(one.places, varied)) for one in found]


def _name(places: Mapping[str, str], varied: Iterable[str]) -> str:
    words = [places["model"]] if "model" in varied else []
    words += [places.get("compiler") or "any compiler"]
    words += list(dict.fromkeys(places[axis] for axis in ("precision", "graph") if places.get(axis)))
    settings = [f"{axis} {places[axis]}" for axis in varied if axis != "model" and places.get(axis)]
    return ", ".join([f"{' '.join(words)} on {places.get('target', 'local')}", *settings])


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
                kept[name] = Figure(figure.value, Basis.ELSEWHERE, f"{figure.source}: {_name(one.places, ())}")
    return worst


def _with_accuracy(one: Candidate, lowest: Mapping[tuple[str, ...], Mapping[str, Figure]]) -> Candidate:
    return replace(one, figures={**lowest.get(_task(one.places), {}), **one.figures})


def _task(places: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(places.get(axis, "") for axis in ("model", "precision", "kept"))
