"""What the files of targets say of power, price and attributes; of this machine, what the rows' header says."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench_plugin.characterise.choice.candidate import Basis, Figure
from bench_plugin.inventory.workspace import Workspace

LOCAL = "local"
OF_MACHINE = {"architecture": "architecture", "os": "system", "cpu": "cpu", "libc": "libc"}


@dataclass(frozen=True)
class TargetFacts:
    """``figures`` by quantity and ``attributes`` by name, both as published."""

    figures: Mapping[str, Figure] = field(default_factory=dict)
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Targets:
    """The facts of targets and boards by their names; ``machines`` are those that headers of rows describe."""

    def __init__(self, workspace: Workspace, machines: Mapping[str, Mapping[str, Any]]) -> None:
        self._workspace = workspace
        self._machines = machines
        self._found: dict[tuple[str, str], TargetFacts] = {}

    def facts(self, target: str, host: str = "") -> TargetFacts:
        """Those of a target; ``host`` is the digest of the machine that computed a row of target ``local``."""
        if (target, host) not in self._found:
            file = self._workspace.hardware.get(self._workspace.target_name(target), {})
            facts = facts_of(file)
            machine = self._machines.get(host, {}) if target == LOCAL else {}
            said = {name: _texts(machine.get(key)) for name, key in OF_MACHINE.items()}
            attributes = {**facts.attributes, **{name: values for name, values in said.items() if values}}
            self._found[target, host] = TargetFacts(facts.figures, attributes)
        return self._found[target, host]

    def published(self, target: str) -> tuple[Mapping[str, Figure], Mapping[str, tuple[str, ...]]]:
        """Figures and attributes of a target that something was predicted of."""
        facts = self.facts(target)
        return facts.figures, facts.attributes


def facts_of(file: Mapping[str, Any]) -> TargetFacts:
    """What the file of a target says. Of several sources, and of a range, the highest figure counts."""
    power = [(group.get("power_w", group.get("tdp_w")), group) for group in file.get("power", ())]
    price = [(group.get("price_usd"), group) for group in file.get("prices", ())]
    figures = {name: made for name, found in (("power", power), ("price", price)) if (made := _highest(found))}
    processor, software = file.get("processor") or {}, file.get("software") or {}
    said = {
        "architecture": file.get("architecture"), "vendor": file.get("vendor"), "soc": processor.get("soc"),
        "isa": processor.get("isa_extensions"), "core": [one.get("name") for one in processor.get("cores", ())],
        "os": software.get("os"), "runtime": software.get("runtimes"),
        "bare_metal": "yes" if file.get("bare_metal") else "no" if software.get("os") else None,
    }  # fmt: skip
    return TargetFacts(figures, {name: texts for name, values in said.items() if (texts := _texts(values))})


def _highest(found: Iterable[tuple[Any, Mapping[str, Any]]]) -> Figure | None:
    """The highest of figures, each a number or [least, most], with its source; None where there is none."""
    ends = [
        (float(max(value) if isinstance(value, Sequence) else value), str(group.get("source", "")))
        for value, group in found
        if value is not None
    ]
    if not ends:
        return None
    value, source = max(ends)
    return Figure(value, Basis.PUBLISHED, source if len(ends) == 1 else f"the highest of {len(ends)}: {source}")


def _texts(value: Any) -> tuple[str, ...]:
    if value is None or value == "":
        return ()
    return (value,) if isinstance(value, str) else tuple(str(one) for one in value if one)
