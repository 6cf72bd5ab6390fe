"""The grid of predictions: every model in every precision on every target in each of its modes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench_plugin.agent.link.identity import machine_id
from bench_plugin.characterise.needs import needs
from bench_plugin.characterise.prediction.datatypes import Stored, stored_as
from bench_plugin.characterise.prediction.predict import Demand, Prediction, predict
from bench_plugin.characterise.prediction.roofs import TargetMode, modes_of
from bench_plugin.cli.shared.model_facts import CannotRead, read_facts
from bench_plugin.cli.shared.output import note
from bench_plugin.cli.shared.registered_models import CannotExport, RegisteredModels
from bench_plugin.domain.paths import folders
from bench_plugin.domain.settings import Settings
from bench_plugin.domain.texts.choices import unknown
from bench_plugin.inventory.hardware.peaks_file import FOLDER, MeasuredPeaks, read_peaks
from bench_plugin.inventory.workspace import Workspace

ALL = "all"
LOCAL = "local"
ELEMENTS = 8  # bits at which bytes of floating-point tensors are elements


@dataclass(frozen=True)
class Empty:
    """A combination without a prediction, and why."""

    model: str
    target: str
    mode: str
    precision: str
    reason: str


@dataclass(frozen=True)
class Grid:
    """All predictions, those that are empty, and what they were made of."""

    predictions: tuple[Prediction, ...]
    empty: tuple[Empty, ...]
    demands: tuple[Demand, ...]
    modes: tuple[TargetMode, ...]
    precisions: tuple[Stored, ...]
    storage: str
    batch: int

    def mode(self, target: str, mode: str) -> TargetMode | None:
        """A target in a mode; where it has none of that name, its only one."""
        own = [one for one in self.modes if one.target == target]
        return next((one for one in own if one.mode == mode), own[0] if len(own) == 1 else None)

    def demand(self, model: str) -> Demand | None:
        """The demand of a model, if it is one of them."""
        return next((one for one in self.demands if one.model == model), None)


def grid_of(
    settings: Settings, *, models: Sequence[str], targets: Sequence[str], precisions: Sequence[str], batch: int,
    storage: str, everything: bool, measured: bool,
) -> Grid:  # fmt: skip
    """The grid of models (names or files) and targets (names of targets or boards). Raises UsageError for others.

    ``everything`` counts the operations of every kind; ``measured`` takes measured peaks where there are some.
    """
    workspace = Workspace.load(settings)
    stored = [stored_as(name) for name in precisions]
    modes, without = target_modes(workspace, settings, targets, measured=measured)
    demands = demands_of(settings, workspace, models, everything=everything)
    return computed(demands, modes, stored, without, storage=storage, batch=batch)


def computed(
    demands: Sequence[Demand], modes: Sequence[TargetMode], stored: Sequence[Stored],
    without: Iterable[tuple[str, str]], *, storage: str, batch: int,
) -> Grid:  # fmt: skip
    """The grid of demands, modes and precisions. ``without`` are targets without a mode, with the reason."""
    found: list[Prediction] = []
    empty: list[Empty] = []
    for demand in demands:
        for one in stored:
            for where in modes:
                prediction = predict(demand, where, one, storage, batch)
                if prediction is not None:
                    found.append(prediction)
                    continue
                reason = f"no peak is known for {one.computed}" if demand.operations else "no operation is counted"
                empty.append(Empty(demand.model, where.target, where.mode, one.name, reason))
            empty += [Empty(demand.model, target, "", one.name, reason) for target, reason in without]
    return Grid(tuple(found), tuple(empty), tuple(demands), tuple(modes), tuple(stored), storage, batch)


def demands_of(settings: Settings, workspace: Workspace, models: Sequence[str], *, everything: bool) -> list[Demand]:
    """What the models need at batch 1. Raises UsageError for an unknown one, CannotExport, EnvironmentMissing."""
    names = sorted(workspace.models) if ALL in models else list(dict.fromkeys(models))
    files = [name for name in names if name.endswith(".onnx")]
    if missing := [name for name in names if name not in files and name not in workspace.models]:
        raise unknown("model", missing[0], workspace.models, listed="models")
    facts = {name: read_facts(Path(name), batch=1, sizes={}) for name in files}
    if len(files) < len(names):
        registered = RegisteredModels(settings, workspace)
        try:
            for name in (name for name in names if name not in files):
                try:
                    facts[name] = registered.facts(name)
                except (CannotExport, CannotRead) as error:
                    if ALL not in models:
                        raise
                    note(f"left out: {error}")
        finally:
            registered.close()
    return [
        Demand.of(Path(name).stem if name in files else name, needs(facts[name], bits=ELEMENTS), everything=everything)
        for name in names
        if name in facts
    ]


def target_modes(
    workspace: Workspace, settings: Settings, targets: Sequence[str], *, measured: bool
) -> tuple[list[TargetMode], list[tuple[str, str]]]:
    """The modes of targets and boards by name, and those without any, with the reason. Raises UsageError."""
    files = measured_peaks(settings.root) if measured else {}
    known = {**dict.fromkeys(workspace.hardware), **dict.fromkeys(workspace.boards)}
    names = list(known) if ALL in targets else list(dict.fromkeys(targets))
    found: list[TargetMode] = []
    without: list[tuple[str, str]] = []
    for name in names:
        if name not in known:
            raise unknown("target", name, known, listed="targets")
        if ALL in targets and name not in workspace.hardware and name not in files:
            continue  # a board without figures of its own, whose target has a row
        said = workspace.hardware[workspace.target_name(name)]
        modes = modes_of(name, said, files.get(name))
        if modes:
            found += modes
        else:
            without.append((name, _why_none(workspace, name)))
    return found, without


def measured_peaks(root: Path) -> dict[str, MeasuredPeaks]:
    """The files of measured peaks by board, the user's own before the plugin's; those of another machine are left out.

    Raises UsageError for a file that is not valid.
    """
    found: dict[str, MeasuredPeaks] = {}
    for folder in reversed(folders(FOLDER, root)):
        for path in sorted(folder.glob("*.toml")):
            peaks = read_peaks(path)
            if peaks.board != LOCAL or not peaks.machine_id or peaks.machine_id == machine_id():
                found[path.stem] = peaks
    return found


def _why_none(workspace: Workspace, name: str) -> str:
    """Why a target has no roof, and what would give it one."""
    if name == LOCAL:
        return "no peak is measured yet, bench board peaks does it"
    reach = workspace.boards.get(name)
    if reach is not None and not reach.board.emulated:
        return f"no peak is published, bench board peaks {name} measures it"
    return "no peak is known"
