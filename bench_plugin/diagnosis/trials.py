"""Trials: a cell's ONNX graph and parts of it, compiled and run as the cell was.

Reduction and localisation make hundreds of trials. They are not cached, and a crash costs only the agent of its trial.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.diagnosis.extraction import GRAPHS, Extractor
from bench_plugin.diagnosis.parts import CannotSay, Origin, Part, Ran
from bench_plugin.diagnosis.trial_origin import SAMPLES, Origins, model_of
from bench_plugin.diagnosis.trial_tools import TrialTools
from bench_plugin.domain.cell import Cell
from bench_plugin.domain.compiler_name import CompilerName
from bench_plugin.domain.outcome import Stage
from bench_plugin.domain.paths import scratch_folder
from bench_plugin.domain.settings import Settings
from bench_plugin.inventory.workspace import Workspace
from bench_plugin.pipeline.array_sets import ArraySet
from bench_plugin.pipeline.cache import Cache, default_folder
from bench_plugin.pipeline.compile_run import CompileRun
from bench_plugin.pipeline.stages import Stages, failure_of
from bench_plugin.pipeline.tasks.compile_tasks import CompileTasks
from bench_plugin.pipeline.tasks.inputs import stack_names
from bench_plugin.pipeline.tasks.model_tasks import Tasks
from bench_plugin.pipeline.tasks.subjects import InputSet, Subject
from bench_plugin.reach.environments.toolchain_file import Toolchain
from bench_plugin.reach.processes.leased_agent import AgentFailure, Answer, Limits, of_computing
from bench_plugin.reach.processes.supervisor import AgentPool
from bench_plugin.reach.processes.zipapp import agent_digest

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

IMPORT_ROLE = "trial-import"
CHECKER = "onnx_check"


class Trials:
    """Tries parts of one cell's graph. It must be made in the main thread; ``close`` ends every process.

    Raises CannotSay for a cell without a graph.
    """

    def __init__(
        self, settings: Settings, workspace: Workspace, cell: Cell, note: Callable[[str], None], *, seconds: float,
    ) -> None:  # fmt: skip
        if cell.framework != "onnx" and not cell.exporter:
            raise CannotSay(
                f"{cell.id}: compiled from the framework's own model, so there is no ONNX graph to extract from"
            )
        self.cell = cell
        self.seconds = seconds
        self._workspace = workspace
        self._note = note
        self._scratch = scratch_folder("trials")
        self._pool = AgentPool(
            environments=lambda name: workspace.toolchains.ensure(name, progress=note),
            folder=settings.results.parent / "logs", adapters=workspace.catalog.sources,
            variables=workspace.variables,
        )  # fmt: skip
        self._cache = Cache(settings.cache or default_folder(), note=note)
        self._stages = Stages(
            self._cache,
            self._pool,
            workspace.catalog,
            workspace.fingerprints,
            agent_digest=agent_digest(),
            refresh=False,
        )
        self._tasks = Tasks(workspace, seed=settings.seed, threads=settings.runtime_threads())
        self._compile_tasks = CompileTasks(workspace, threads=self._tasks.threads)
        self._compile_run = CompileRun(self._pool, self._compile_tasks, name="trial")
        self._tools = TrialTools(workspace, self._pool)
        self._model = model_of(workspace, cell)
        self._adapter = workspace.catalog[cell.importer_framework or CompilerName.parse(cell.compiler).compiler]

    @property
    def tool(self) -> str:
        """The name of the compiler or importer on trial."""
        return self.cell.importer or self._adapter.name

    @property
    def toolchain(self) -> str:
        """The name of the tool's toolchain."""
        return self._adapter.toolchain_for(self.cell.framework)

    @property
    def environment(self) -> Toolchain:
        """The tool's toolchain as its files describe it."""
        return self._workspace.toolchains[self.toolchain]

    def python(self) -> Path:
        """The interpreter of the tool's environment."""
        return self._workspace.toolchains.ensure(self.toolchain, progress=self._note)

    def options(self) -> dict[str, Any]:
        """The settings with which the tool was called, for scripts."""
        if self.cell.importer:
            return {}
        meta = self._compile_tasks.settings(self.cell)
        return {name: meta[name] for name in ("precision", "graph", "backend", "options", "target")}

    def versions(self) -> dict[str, str]:
        """The locked versions of the tool, of the distributions that it uses, and of onnx."""
        adapters = [*self._workspace.catalog.used(self._adapter.name), CHECKER]
        return self._workspace.versions(adapters, self.cell)

    def close(self) -> None:
        """End every agent and remove the files of the trials."""
        self._pool.close()
        self._cache.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def origin(self) -> Part:
        """The whole file of the cell with its inputs [N, ...], one by one. Raises CannotSay where it cannot be made."""
        origin = self._origin
        return Part(
            origin.path, origin.path, tuple(origin.described), tuple(origin.outputs), origin.arrays,
            {"operators": [], "half": False},
        )  # fmt: skip

    @cached_property
    def extractor(self) -> Extractor:
        """The extractor of parts of the cell's graph."""
        return Extractor(self._tools, self._origin, self._scratch)

    @cached_property
    def _origin(self) -> Origin:
        return Origins(self._stages, self._tasks, self._compile_tasks.calibration, self._scratch).of(
            self.cell, self._model
        )

    def run(self, part: Part, *, fresh: bool = False, seconds: float | None = None) -> Ran:
        """Compile and run the part with the settings of the cell, in at most ``seconds`` of processor time per stage.

        ``fresh`` starts new processes. Raises EnvironmentMissing.
        """
        limits = of_computing(seconds or self.seconds, self._tools.limit(self._adapter.name))
        try:
            if self.cell.importer:
                return self._imported(part, limits, fresh)
            return self._compiled(part, limits, fresh)
        except AgentFailure as error:
            return Ran(failure_of(error, Stage.IMPORT if self.cell.importer else Stage.COMPILE))

    def truth(self, part: Part, perturb: int | None = None) -> dict[str, Array]:
        """The float64 outputs [N, ...] of the part, by name. Raises CannotSay where they cannot be computed."""
        exact = part.exact
        if (
            self.cell.types.rounds_weights and not self.cell.graph
        ):  # the tool rounds by itself, and so does its reference
            meta = {"graph": self.cell.precision, "batched": False, "calibration_method": "minmax"}
            exact = self._tools.call(GRAPHS, "prepare", meta, {}, {"model.onnx": exact}).files["model.onnx"]
        found = self._tools.evaluated(exact, _widened(part.arrays), perturb)
        return dict(zip((str(row["name"]) for row in part.outputs), found.values(), strict=True))

    def emulated(self, part: Part) -> dict[str, Array]:
        """The outputs [N, ...] of the part under the emulation of the cell's precision, by name. Raises CannotSay."""
        meta = {"batched": False, "samples": SAMPLES}
        answer = self._tools.call("onnx_emulate", "emulate", meta, _widened(part.arrays), {"model.onnx": part.exact})
        found = stack_names(answer.arrays, self.cell.precision)
        return dict(zip((str(row["name"]) for row in part.outputs), found.values(), strict=True))

    @property
    def loose(self) -> bool:
        """Whether the tool declares fast math at the cell's precision."""
        return not self.cell.importer and self._compile_tasks.fast_math(self.cell)

    def _compiled(self, part: Part, limits: Limits, fresh: bool) -> Ran:
        rows = [dict(row) for row in part.inputs]
        once = not part.arrays
        inputs = InputSet(ArraySet(lambda: part.arrays), {}, batched=False, once=once)
        subject = Subject(
            "trial", {"model.onnx": part.path}, rows, [dict(row) for row in part.outputs], self._origin.binding, "",
            inputs,
        )  # fmt: skip
        quantises = self._compile_tasks.quantises(self.cell)
        calibration = InputSet(ArraySet(lambda: _calibration(part.arrays)), {}, batched=False) if quantises else None
        found = self._compile_run.run(self.cell, subject, limits, calibration=calibration, fresh=fresh)
        if found.failure is not None:
            return Ran(found.failure)
        seconds = max(found.seconds.values(), default=0.0)
        return Ran(None, _outputs(found.ran.arrays, once) if found.ran else (), seconds)

    def _imported(self, part: Part, limits: Limits, fresh: bool) -> Ran:
        meta = {"importer": self.cell.importer, "inputs": [dict(row) for row in part.inputs], "batched": False}
        name = self._adapter.name
        with self._pool.lease(self.toolchain, role=IMPORT_ROLE, fresh=fresh) as agent:
            made = agent.call(name, "import_model", meta, files={"model.onnx": part.path}, limits=limits)
            whole = {"batched": False, "ragged": False, **({} if part.arrays else {"whole": True})}
            done = agent.call(name, "run_imported", whole, arrays=part.arrays, limits=limits)
        return Ran(None, _outputs(done.arrays, not part.arrays), max(_took(made), _took(done)))


def _widened(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: x.astype("float32") if x.dtype.name == "float16" else x for name, x in arrays.items()}


def _calibration(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {f"calib:{name.partition(':')[2]}": x for name, x in arrays.items()}


def _took(answer: Answer) -> float:
    return max((seconds for name, seconds in answer.seconds.items() if name != "call"), default=0.0)


def _outputs(arrays: Mapping[str, Array], once: bool) -> tuple[Array, ...]:
    names = sorted((name for name in arrays if re.fullmatch(r"out\d+", name)), key=lambda name: int(name[3:]))
    return tuple(arrays[name][None] if once else arrays[name] for name in names)
