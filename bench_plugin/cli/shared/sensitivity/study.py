"""What ``bench sensitivity`` found, as one record: plain data for JSON, rows of tables for the terminal and a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from bench_plugin.characterise.sensitivity import exclusion
from bench_plugin.characterise.sensitivity.assignment import Assigned, Bound, Excluded
from bench_plugin.characterise.sensitivity.deployed import ByDepth, Deployed
from bench_plugin.characterise.sensitivity.findings import (
    FLOAT_BITS,
    Effect,
    Finding,
    Kind,
    Layer,
    Part,
)
from bench_plugin.results.rows import finite

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Study:
    """All figures of a model: what single parts cost (``findings``, the worst first), what was assigned, which layers a
    quantiser should leave alone, and what compilers made of layers ``alone`` and ``together``.

    ``framework`` made its file, ``samples`` inputs were measured; ``task`` is empty for a model without labels.
    """

    model: str
    framework: str
    samples: int
    task: str
    bits: tuple[int, ...]
    layers: Sequence[Layer]
    untouched: Mapping[str, int]
    findings: Sequence[Finding]
    bound: Bound
    assigned: Assigned
    excluded: Excluded
    alone: Sequence[Deployed] = ()
    together: Sequence[ByDepth] = ()

    @property
    def left_out(self) -> list[Layer]:
        """The layers that a quantiser should leave alone."""
        return [self.layers[number] for number in self.excluded.layers]

    def plain(self) -> Any:
        """Everything as plain data; a number that is not finite is null."""
        names = [layer.name for layer in self.layers]
        memory = self.assigned.memory(self.layers)
        forms: dict[str, Any] = {}
        if all(layer.named for layer in self.left_out):
            forms = {
                "onnxruntime": exclusion.nodes_to_exclude(self.left_out), "nncf": exclusion.ignored_scope(self.left_out)
            }  # fmt: skip
        return finite(
            {
                "model": self.model, "framework": self.framework, "samples": self.samples, "task": self.task or None,
                "bits": list(self.bits), "layers": [asdict(layer) for layer in self.layers],
                "untouched": dict(self.untouched),
                "findings": [
                    {
                        "layer": names[one.part.layer], "number": one.part.layer, "kind": str(one.part.kind),
                        "bits": one.bits, "bits_saved": one.bits_saved, **_plain(one.effect),
                    }
                    for one in self.findings
                ],
                "bound": asdict(self.bound),
                "assignment": [dict(row) for row in self.assignment_rows()],
                "effect": _plain(self.assigned.effect), "memory": memory, "measured": self.assigned.measured,
                "refused": [
                    {"layer": names[part.layer], "kind": str(part.kind), "bits": bits}
                    for part, bits in self.assigned.refused
                ],
                "excluded": [layer.name for layer in self.left_out], "exclude": forms,
                "effect_without_excluded": _plain(self.excluded.effect),
                "deployed": [_deployed(one, names) for one in self.alone],
                "together": [{**_deployed(one.whole, names), "growth": one.growth} for one in self.together],
            }
        )  # fmt: skip

    def finding_rows(self, top: int | None = None) -> list[Row]:
        """The ranking, the worst first, at most ``top`` of it."""
        return [
            {
                "layer": self.layers[one.part.layer].name, "operator": self.layers[one.part.layer].operator,
                "kind": str(one.part.kind), "bits": one.bits, **_figures(one.effect),
                "saved": f"{one.bits_saved / 8192:.4g} KiB",
            }
            for one in self.findings[:top]
        ]  # fmt: skip

    def assignment_rows(self) -> list[Row]:
        """The bits of every layer's weights and activations; None for a kind that the layer does not have."""
        bits = self.assigned.bits
        return [
            {
                "layer": layer.name, "operator": layer.operator,
                **{str(kind): bits.get(Part(number, kind)) for kind in Kind},
            }
            for number, layer in enumerate(self.layers)
        ]  # fmt: skip

    def deployed_rows(self) -> list[Row]:
        """Every layer that was quantised alone, by compiler: effects simulated and deployed, and the gap."""
        return [
            {
                "compiler": one.compiler, "layer": self.layers[one.layers[0]].name, "kernel": one.integer,
                "simulated_E": f"{one.simulated.error:.3g}",
                "deployed_E": one.failure or (f"{one.deployed.error:.3g}" if one.deployed else "-"),
                **_drops(one), **_gap(one, one.layers[0]),
            }
            for one in self.alone
        ]  # fmt: skip

    def depth_rows(self) -> list[Row]:
        """Every layer of the model with all layers quantised, by compiler, in the order of the file."""
        return [
            {"compiler": one.whole.compiler, "depth": depth + 1, "layer": self.layers[number].name,
             **_gap(one.whole, number)}
            for one in self.together
            for depth, number in enumerate(one.whole.layers)
        ]  # fmt: skip

    def summary(self) -> list[str]:
        """Sentences on the assignment and on the layers to exclude."""
        memory = self.assigned.memory(self.layers)
        whole = {kind: sum(layer.elements(kind) for layer in self.layers) * FLOAT_BITS // 8 for kind in Kind}
        sizes = ", ".join(
            f"{kind} {memory.get(kind, 0) / 1024:.4g} of {whole[kind] / 1024:.4g} KiB" for kind in Kind if whole[kind]
        )
        lines = [
            f"all together: {_said(self.assigned.effect)}; {sizes}; {self.assigned.measured} assignments measured",
        ]
        if not self.excluded.layers:
            lines.append(f"no layer has to be excluded from a quantiser to {self.excluded.bits} bits")
        else:
            named = ", ".join(layer.name for layer in self.left_out)
            lines.append(
                f"exclude from a quantiser to {self.excluded.bits} bits: {named}; the others together: "
                f"{_said(self.excluded.effect)}"
            )
        return lines

    def bound_said(self) -> str:
        """The bound in words."""
        said = []
        if self.bound.max_drop is not None:
            said.append(f"a drop of at most {self.bound.max_drop:.2%} (upper end of its 95 % interval)")
        if self.bound.max_error is not None:
            said.append(f"E of at most {self.bound.max_error:g}")
        return " and ".join(said)

    def growth_said(self) -> list[str]:
        """How the gap of each compiler grows with depth, a sentence each."""
        lines = []
        for one in self.together:
            name, gaps = one.whole.compiler, [one.whole.gaps[number] for number in sorted(one.whole.gaps)]
            if one.whole.failure:
                lines.append(f"{name}, all layers quantised: {one.whole.failure}")
            elif not gaps:
                lines.append(f"{name}: the integers of no layer have the shape of the simulated ones")
            else:
                line = f"{name}: {gaps[0].off:.3%} differ in the first layer, {gaps[-1].off:.3%} in the last"
                more = "" if one.growth is None else f"; rank correlation of the mean gap with depth {one.growth:.2f}"
                lines.append(line + more)
        return lines


def _plain(effect: Effect) -> dict[str, Any]:
    drop = effect.drop
    if drop is None:
        return {"error": effect.error, "drop": None}
    return {
        "error": effect.error,
        "drop": {
            "top1": drop.drop, "lower": drop.lower, "upper": drop.upper, "agreement": drop.agreement,
            "mcnemar_p": drop.mcnemar_p,
        },
    }  # fmt: skip


def _deployed(one: Deployed, names: Sequence[str]) -> dict[str, Any]:
    return {
        "compiler": one.compiler, "layers": [names[number] for number in one.layers], "samples": one.samples,
        "kernel": one.integer, "failure": one.failure, "simulated": _plain(one.simulated),
        "deployed": _plain(one.deployed) if one.deployed else None,
        "gaps": {names[number]: asdict(found) for number, found in one.gaps.items()},
    }  # fmt: skip


def _figures(effect: Effect) -> dict[str, Any]:
    """The columns of an effect; those of the drop only where there is one."""
    columns: dict[str, Any] = {"E": f"{effect.error:.3g}"}
    if effect.drop is not None:
        drop = effect.drop
        columns |= {
            "drop": f"{drop.drop:.2%}", "95_%": f"{drop.lower:.2%} to {drop.upper:.2%}", "p": f"{drop.mcnemar_p:.2g}",
        }  # fmt: skip
    return columns


def _drops(one: Deployed) -> dict[str, str]:
    """The columns of both drops of a layer, for a model with a task."""
    if one.simulated.drop is None:
        return {}
    deployed = one.deployed.drop if one.deployed else None
    return {
        "simulated_drop": f"{one.simulated.drop.drop:.2%}", "deployed_drop": f"{deployed.drop:.2%}" if deployed else "-"
    }  # fmt: skip


def _gap(one: Deployed, number: int) -> dict[str, str]:
    """The columns of the gap of a layer, in steps of its scale."""
    found, alone = one.gaps.get(number), len(one.layers) == 1
    if found is None:
        more = ("input_ties", "of_these_differ") if alone else ()
        return dict.fromkeys(("differ", "mean_steps", "most_steps", "elements", "ties", *more), "-")
    return {
        "differ": f"{found.off:.3%}", "mean_steps": f"{found.mean:.2g}", "most_steps": f"{found.largest:g}",
        "elements": str(found.elements), "ties": str(found.ties),
        **({"input_ties": str(found.input_ties), "of_these_differ": f"{found.tied_off:.3%}"} if alone else {}),
    }  # fmt: skip


def _said(effect: Effect) -> str:
    text = f"E {effect.error:.3g}"
    if effect.drop is None:
        return text
    return f"{text}, drop {effect.drop.drop:.2%} (95 %: {effect.drop.lower:.2%} to {effect.drop.upper:.2%})"
