"""Parts of a cell's ONNX graph, compiled and run as the cell was: what reducing and localising stand on.

Nothing of it is cached: a trial is one of hundreds, and costs at most its own agent.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench_plugin.core.cache import Cache, default_folder
from bench_plugin.core.cell import Cell, Check
from bench_plugin.core.compile_tasks import CompileTasks, Given, Subject
from bench_plugin.core.corpus import Corpus, tensors
from bench_plugin.core.errors import BenchError, UsageError
from bench_plugin.core.inputs import stack_names
from bench_plugin.core.models import Model
from bench_plugin.core.outcome import Failure, Stage, Symptom
from bench_plugin.core.places import cache_root
from bench_plugin.core.plan_equivalence import ORIGINAL, quantiser, split_compiler
from bench_plugin.core.settings import Settings
from bench_plugin.core.stages import Stages, Task, failure_of
from bench_plugin.core.steps import OnnxFile, Steps
from bench_plugin.core.tasks import Drawn, Tasks
from bench_plugin.core.trail import Trail
from bench_plugin.core.workspace import Workspace, plain_model
from bench_plugin.reach.client import AgentFailure, Answer, Limits
from bench_plugin.reach.supervisor import AgentPool
from bench_plugin.reach.zipapp import agent_digest

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

SAMPLES = 4
NOISE_RUNS = 2
SURGERY, EVALUATOR = "onnx_surgery", "onnx_float64"
TOOL_SECONDS = 600.0  # for truths and surgery, which are ours and not on trial
ROLES = ("trial-compile", "trial-run")
GIB = 2**30


class CannotSay(BenchError):
    """There is nothing to cut, or nothing to cut for."""

    exit_code = 3


@dataclass(frozen=True)
class Node:
    """A node of the graph; constants are none. ``index`` is its number in the file."""

    index: int
    operator: str
    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]


@dataclass(frozen=True)
class Graph:
    """A file that can be cut: its nodes in order, and every tensor's value in float64 as the file's types hold it."""

    path: Path
    nodes: tuple[Node, ...]
    fixed: frozenset[str]
    outputs: tuple[str, ...]
    inputs: tuple[Mapping[str, Any], ...]
    types: Mapping[str, str]
    values: Mapping[str, Array]
    exact: Mapping[str, Array]

    @property
    def names(self) -> frozenset[str]:
        """What a message may call parts of the graph by."""
        return frozenset({*self.types, *self.values, *(node.name for node in self.nodes)}) | frozenset(
            name for node in self.nodes for name in node.reads
        )

    @property
    def makers(self) -> dict[str, int]:
        """The position in ``nodes`` of every tensor's node."""
        return {name: place for place, node in enumerate(self.nodes) for name in node.writes}


@dataclass(frozen=True)
class Part:
    """A file of its own with its inputs [N, ...]; ``segments`` are the outputs' positions, by segment."""

    path: Path
    exact: Path
    inputs: tuple[Mapping[str, Any], ...]
    outputs: tuple[Mapping[str, Any], ...]
    arrays: Mapping[str, Array]
    described: Mapping[str, Any]
    segments: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Ran:
    """What became of a part: its outputs [N, ...], or where it failed."""

    failure: Failure | None
    outputs: tuple[Array, ...] = ()
    seconds: float = 0.0


@dataclass
class _Origin:
    """The file as the compiler was given it, and its inputs."""

    path: Path
    described: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    binding: Mapping[str, int]
    arrays: dict[str, Any] = field(default_factory=dict)


class Trials:
    """Opens one cell's graph and tries parts of it. Made in the main thread; ``close`` ends every process."""

    def __init__(
        self, settings: Settings, workspace: Workspace, cell: Cell, note: Callable[[str], None], *, seconds: float,
    ) -> None:  # fmt: skip
        if cell.framework != "onnx" and not cell.exporter:
            raise CannotSay(f"{cell.id}: compiled from the framework's own model, so there is no ONNX graph to cut")
        self.cell = cell
        self.seconds = seconds
        self._workspace = workspace
        self._note = note
        self._scratch = Path(tempfile.mkdtemp(prefix="trials-", dir=_folder()))
        self._pool = AgentPool(
            environments=lambda name: workspace.toolchains.ensure(name, progress=note),
            folder=settings.results.parent / "logs", adapters=workspace.catalog.sources,
        )  # fmt: skip
        self._cache = Cache(settings.cache or default_folder(), note=note)
        self._stages = Stages(
            self._cache, self._pool, workspace.catalog, workspace.toolchains, agent_digest=agent_digest(), refresh=False
        )
        self._tasks = Tasks(workspace, seed=settings.seed, threads=settings.threads or os.cpu_count() or 1)
        self._compiling = CompileTasks(
            workspace, self._tasks, options=settings.options, calibration=settings.calibration
        )
        self._model = self._model_of(cell)
        self._adapter = workspace.catalog[cell.importer_framework or split_compiler(cell.compiler)[0]]
        self._count = 0

    @property
    def tool(self) -> str:
        """The compiler or importer on trial."""
        return self.cell.importer or self._adapter.name

    @property
    def toolchain(self) -> str:
        """Where it works."""
        return self._adapter.toolchain_for(self.cell.framework)

    def python(self) -> Path:
        """The interpreter of the tool's environment."""
        return self._workspace.toolchains.ensure(self.toolchain, progress=self._note)

    def options(self) -> dict[str, Any]:
        """What a script has to know of how the tool was called."""
        if self.cell.importer:
            return {}
        meta = self._compile_task(_nothing(), None).calls[0].meta
        return {name: meta[name] for name in ("precision", "graph", "backend", "options", "target")}

    def versions(self) -> dict[str, str]:
        """The locked versions that a row of the cell would name."""
        return self._workspace.versions(self.cell)

    def close(self) -> None:
        """End every agent and remove what the trials left."""
        self._pool.close()
        self._cache.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    # -- the graph

    def origin(self) -> Part:
        """The cell's file as it stands with its inputs, one by one."""
        origin = self._operator_case() if self.cell.check is Check.OPERATOR else self._prepared()
        self._origin = origin
        return Part(
            origin.path, origin.path, tuple(origin.described), tuple(origin.outputs), origin.arrays,
            {"operators": [], "half": False},
        )  # fmt: skip

    def graph(self, *, bound: bool) -> Graph:
        """The file as a graph to cut, evaluated; ``bound`` fixes symbolic dimensions. Raises CannotSay."""
        origin = self._origin
        meta = {"binding": dict(origin.binding) if bound else None}
        opened = self._tool(SURGERY, "open", meta, {}, {"model.onnx": origin.path})
        values = self._evaluated(opened.files["tapped.onnx"], origin.arrays)
        found = dict(zip(opened.meta["taps"], values.values(), strict=True))
        types = {**{name: _narrow(x.dtype.name) for name, x in found.items()}, **opened.meta["types"]}
        exact = {**{name.partition(":")[2]: x for name, x in origin.arrays.items()}, **found}
        nodes = tuple(
            Node(row["index"], row["operator"], row["name"], tuple(row["reads"]), tuple(row["writes"]))
            for row in opened.meta["nodes"]
        )
        layouts = {row["name"]: row.get("layout", "") for row in origin.described}
        inputs = tuple({**row, "layout": layouts.get(row["name"], "")} for row in opened.meta["inputs"])
        return Graph(
            self._kept(opened.files["bound.onnx"]), nodes, frozenset(opened.meta["fixed"]),
            tuple(opened.meta["outputs"]), inputs, types,
            {name: x.astype(types.get(name, x.dtype.name)) for name, x in exact.items()}, exact,
        )  # fmt: skip

    def part(self, graph: Graph, segments: Sequence[Sequence[int]], *, expose: bool = False) -> Part:
        """Segments (positions in ``graph.nodes``) side by side, each fed with the truth's tensors.

        ``expose`` makes every tensor that is made in a segment an output of it.
        """
        makers = graph.makers
        position = {place: number for number, segment in enumerate(segments) for place in segment}
        users: dict[str, set[int]] = {}
        for place, node in enumerate(graph.nodes):
            for name in node.reads:
                users.setdefault(name, set()).add(place)
        inputs = {row["name"]: row for row in graph.inputs}
        rows: list[dict[str, Any]] = []
        given_names: dict[str, str] = {}
        fixed_names: dict[str, Any] = {}
        outputs: list[tuple[str, ...]] = []
        for segment in segments:
            members = set(segment)
            own = {name for place in segment for name in graph.nodes[place].writes}
            given: dict[str, str] = {}
            fixed: dict[str, str] = {}
            for place in segment:
                for name in graph.nodes[place].reads:
                    if name in own or (name not in makers and name not in inputs):
                        continue
                    elsewhere = name in makers and makers[name] in position
                    (fixed if name in graph.fixed else given)[name] = f"{name}_given" if elsewhere else name
            made = [
                name
                for place in segment
                for name in graph.nodes[place].writes
                if expose or name in graph.outputs or not users.get(name, set()) <= members or not users.get(name)
            ]
            made = [name for name in made if name in graph.values]
            given_names.update({new: old for old, new in given.items()})
            fixed_names.update({old: graph.values[old][0] for old in fixed})
            numbers = [graph.nodes[place].index for place in segment]
            rows.append({"nodes": numbers, "given": given, "fixed": fixed, "outputs": made})
            outputs.append(tuple(made))
        missing = [name for name in given_names.values() if name not in graph.values]
        if missing:
            raise CannotSay(f"{missing[0]} is no tensor, so the graph cannot be cut there")
        named = {name for made in outputs for name in made} | set(given_names.values())
        types = {name: [graph.types[name], list(graph.values[name].shape[1:])] for name in named}
        sent = {f"fix:{name}": value for name, value in fixed_names.items()}
        answer = self._tool(SURGERY, "extract", {"segments": rows, "types": types}, sent, {"bound.onnx": graph.path})
        arrays = {f"in:{new}": graph.values[old] for new, old in given_names.items()}
        places, start = [], 0
        for names in outputs:
            places.append(tuple(range(start, start + len(names))))
            start += len(names)
        layouts = {row["name"]: row["layout"] for row in graph.inputs}
        return self._part_of(answer, arrays, layouts, tuple(places))

    def layers(self) -> tuple[Part, Part, dict[str, Array]]:
        """A QDQ graph layer by layer, the same with every layer's integers as outputs, and the truth's integers."""
        origin = self._origin
        answer = self._tool("onnx_graphs", "layers", {"binding": dict(origin.binding)}, {}, {"model.onnx": origin.path})
        names = list(answer.meta["layers"])
        if not names:
            raise CannotSay("the graph has no quantised layer")
        tapped = answer.files["tapped.onnx"]
        values = list(self._evaluated(tapped, origin.arrays).values())
        truth = dict(zip(names, values, strict=False))
        known = {f"in:{name}_given": x for name, x in truth.items()} | dict(origin.arrays)
        rows = tuple({**row, "layout": ""} for row in answer.meta["inputs"])
        arrays = {f"in:{row['name']}": known[f"in:{row['name']}"] for row in rows}
        outputs = tuple(answer.meta["outputs"])
        cut = Part(answer.files["cut.onnx"], answer.files["cut.onnx"], rows, outputs, arrays, {})
        bound = tuple(
            {**row, "shape": [origin.binding.get(dim, dim) for dim in row["shape"]]} for row in origin.described
        )
        whole = (*outputs, *(row for row in origin.outputs if row["name"] not in truth))
        return cut, Part(tapped, tapped, bound, whole, origin.arrays, {}), truth

    def smaller(self, part: Part, size: int, to: int) -> Part | None:
        """The part with a dimension shrunk; None where that is no model any more."""
        meta = {"size": size, "to": to}
        layouts = {row["name"]: row.get("layout", "") for row in part.inputs}
        try:
            answer = self._tool(SURGERY, "shrink", meta, part.arrays, {"part.onnx": part.path})
        except CannotSay:
            return None
        return self._part_of(answer, dict(answer.arrays), layouts, part.segments)

    def discard(self, part: Part) -> None:
        """Remove a part's files."""
        for path in {part.path, part.exact}:
            path.unlink(missing_ok=True)

    # -- trying

    def run(self, part: Part, *, fresh: bool = False, seconds: float | None = None) -> Ran:
        """The part through the tool, as the cell went through it."""
        limits = Limits(seconds or self.seconds, self._limit(self._adapter.name))
        self._count += 1
        try:
            if self.cell.importer:
                return self._imported(part, limits, fresh)
            return self._compiled(part, limits, fresh)
        except AgentFailure as error:
            return Ran(failure_of(error, Stage.IMPORT if self.cell.importer else Stage.COMPILE))

    def truth(self, part: Part, perturb: int | None = None) -> dict[str, Array]:
        """What the part computes in float64, by the names of its outputs."""
        exact = part.exact
        if self.cell.precision == "w16" and not self.cell.graph:  # the tool rounds by itself: so does its truth
            meta = {"graph": "w16", "batched": False, "calibration_method": "minmax"}
            exact = self._tool("onnx_graphs", "prepare", meta, {}, {"model.onnx": exact}).files["model.onnx"]
        found = self._evaluated(exact, _widened(part.arrays), perturb)
        return dict(zip((str(row["name"]) for row in part.outputs), found.values(), strict=True))

    def emulated(self, part: Part) -> dict[str, Array]:
        """The part's outputs as they would be in the cell's precision."""
        meta = {"batched": False, "samples": SAMPLES}
        answer = self._tool("onnx_emulate", "emulate", meta, _widened(part.arrays), {"model.onnx": part.exact})
        found = stack_names(answer.arrays, self.cell.precision)
        return dict(zip((str(row["name"]) for row in part.outputs), found.values(), strict=True))

    @property
    def loose(self) -> bool:
        """Whether the tool declares fast math at the cell's precision."""
        return self.cell.precision in self._adapter.declaration.get("loose", ())

    def _compiled(self, part: Part, limits: Limits, fresh: bool) -> Ran:
        together = self._adapter.declaration.get("artefact") is False
        subject = self._subject(part)
        own = quantiser(self.cell) == "own" and self.cell.precision.startswith("w8")
        calibration = Given(lambda: _calibration(part.arrays), {}, batched=False) if own else None
        task = self._compile_task(subject, calibration)
        asked = dict(task.calls[0].meta)
        whole = not part.arrays
        given = {"batched": False, "ragged": False, **({"whole": True} if whole else {})}
        toolchain, name = task.toolchain, task.adapter
        with self._pool.lease(toolchain, role=ROLES[0], fresh=fresh) as agent:
            compiled = agent.call(
                name, "compile", asked, arrays=task.calls[0].arrays(), files=task.files, limits=limits
            )
            if together:
                done = agent.call(name, "run", {**asked, **given}, arrays=part.arrays, files={}, limits=limits)
        if self.cell.target != "local":
            return Ran(None, (), _took(compiled))
        if not together:
            with self._pool.lease(toolchain, role=ROLES[1], fresh=fresh) as agent:
                done = agent.call(
                    name, "run", {**asked, **given}, arrays=part.arrays, files=compiled.files, limits=limits
                )
        for path in compiled.files.values():
            path.unlink(missing_ok=True)
        return Ran(None, _outputs(done, whole), max(_took(compiled), _took(done)))

    def _imported(self, part: Part, limits: Limits, fresh: bool) -> Ran:
        meta = {"importer": self.cell.importer, "inputs": [dict(row) for row in part.inputs], "batched": False}
        name = self._adapter.name
        with self._pool.lease(self.toolchain, role=ROLES[0], fresh=fresh) as agent:
            made = agent.call(name, "import_model", meta, files={"model.onnx": part.path}, limits=limits)
            whole = {"batched": False, "ragged": False, **({} if part.arrays else {"whole": True})}
            done = agent.call(name, "run_imported", whole, arrays=part.arrays, limits=limits)
        return Ran(None, _outputs(done, not part.arrays), max(_took(made), _took(done)))

    def _compile_task(self, subject: Subject, calibration: Given | None) -> Task:
        return self._compiling.compile(self.cell, self._model, subject, calibration)

    def _subject(self, part: Part) -> Subject:
        rows = [dict(row) for row in part.inputs]
        return Subject(
            "trial", {"model.onnx": part.path}, rows, [dict(row) for row in part.outputs], self._origin.binding, "",
            Given(lambda: part.arrays, {}, batched=False), None,
        )  # fmt: skip

    # -- where the file comes from

    def _model_of(self, cell: Cell) -> Model:
        if cell.check is Check.OPERATOR:
            return plain_model(Path(__file__))  # a case has no model; only its limits are asked
        try:
            return self._workspace.models[cell.model]
        except KeyError:
            raise UsageError(f"model {cell.model!r} is not known here; for a plain file give its path") from None

    def _prepared(self) -> _Origin:
        cell, model, trail = self.cell, self._model, Trail({})
        file = self._steps().file(replace(cell, check=Check.EXPORT), model, trail)
        if isinstance(file, Failure):
            raise CannotSay(f"there is no file to cut: {file.stage}: {file.message}")
        drawn = self._tasks.drawn(model, cell.framework, file.check)
        path = self._ready(file, drawn) if cell.graph else file.path
        count = min(SAMPLES, model.samples)
        arrays = {
            name: (values[:count, None] if drawn.batched else values[:count])
            for name, values in drawn.samples().items()
        }
        outputs = list(file.check.meta["check"]["outputs"])
        return _Origin(path, [dict(row) for row in drawn.described], outputs, drawn.binding, arrays)

    def _ready(self, file: OnnxFile, drawn: Drawn) -> Path:
        """The graph of reduced precision that the compiler was handed."""
        cell, model = self.cell, self._model
        subject = self._compiling.of_file(cell, model, file, drawn)
        dataset = self._stages.obtain(self._tasks.dataset(model)) if model.dataset else None
        calibration = self._compiling.calibration_given(model, subject, dataset)
        done = self._stages.obtain(self._compiling.graph(cell, model, subject, calibration, cell.graph or ORIGINAL))
        if done.failure:
            raise CannotSay(f"no {cell.graph} graph: {done.failure.message}")
        return done.files["model.onnx"]

    def _operator_case(self) -> _Origin:
        data = Corpus(self._stages).case(self.cell.model)
        path = self._scratch / "case.onnx"
        path.write_bytes(bytes(data.model))
        arrays = {}
        for name, description in data.inputs.items():
            value = tensors(data.reader.value(description), description)
            if value is None or isinstance(value, list) or value.values.dtype.kind not in "fiub":
                raise CannotSay(f"{self.cell.model}: input {name} is no plain tensor, which a file cannot hold")
            arrays[f"in:{name}"] = value.values[None]
        rows = [{"layout": "", "dtype": "", "shape": [], **row} for row in data.row["inputs"]]
        return _Origin(path, rows, list(data.row["outputs"]), {}, arrays)

    def _steps(self) -> Steps:
        return Steps(self._stages, self._tasks)

    # -- our own tools

    def _evaluated(self, path: Path, arrays: Mapping[str, Any], perturb: int | None = None) -> dict[str, Any]:
        if not arrays:
            raise CannotSay("the graph has no inputs, so there is nothing to evaluate it on")
        meta = {"batched": False, "ragged": False, "perturb": perturb}
        answer = self._tool(EVALUATOR, "evaluate", meta, arrays, {"model.onnx": path})
        return dict(answer.arrays)

    def _tool(
        self, adapter: str, operation: str, meta: Mapping[str, Any], arrays: Mapping[str, Any],
        files: Mapping[str, Path],
    ) -> Answer:  # fmt: skip
        limits = Limits(TOOL_SECONDS, self._limit(adapter))
        toolchain = self._workspace.catalog[adapter].toolchain
        try:
            with self._pool.lease(toolchain, role="tools") as agent:
                return agent.call(adapter, operation, dict(meta), arrays=arrays, files=files, limits=limits)
        except AgentFailure as error:
            raise CannotSay(f"{adapter} cannot {operation} this graph: {error.message}") from error

    def _part_of(
        self, answer: Answer, arrays: Mapping[str, Any], layouts: Mapping[str, str], segments: Any
    ) -> Part:  # fmt: skip
        path = answer.files["part.onnx"]
        rows = [{**row, "layout": layouts.get(row["name"], "")} for row in answer.meta["inputs"]]
        own = {row["name"] for row in rows}
        kept = {name: values for name, values in arrays.items() if name.partition(":")[2] in own}
        return Part(
            path, answer.files.get("exact.onnx", path), tuple(rows), tuple(answer.meta["outputs"]), kept, answer.meta,
            segments,
        )  # fmt: skip

    def _kept(self, path: Path) -> Path:
        target = self._scratch / f"{os.urandom(4).hex()}{path.suffix}"
        shutil.move(path, target)
        return target

    def _limit(self, adapter: str) -> int:
        return int(self._workspace.toolchains.memory_gb(self._workspace.catalog[adapter].toolchain) * GIB)


def normalised(text: str, names: Collection[str] = ()) -> str:
    """A message without what differs from graph to graph: ``names``, numbers, addresses, paths, sizes."""

    def quoted(found: re.Match[str]) -> str:
        inner = found[0][1:-1]
        plain = re.sub(r"_\d+$", "", inner)  # layers of one kind are counted in a process
        return "'...'" if inner in names or re.search(r"[\d/:]", plain) else f"'{plain}'"

    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"'[^']*'|\"[^\"]*\"|`[^`]*`", quoted, line)
    line = re.sub(r"(/[\w.+-]+)+", "PATH", line)
    line = re.sub(r"0x[0-9a-fA-F]+|[-+]?\d[\d.]*(e[-+]?\d+)?", "N", line)
    line = re.sub(r"[(\[]\s*\w*(\s*,\s*\w*)*\s*[)\]]", "(N)", line)  # sizes, by number or by symbol
    return re.sub(r"\s+", " ", line)[:200]


def same_failure(one: Failure, other: Failure, names: Collection[str] = ()) -> bool:
    """The same stage and symptom; exceptions also by kind and normalised message, crashes by signal."""
    if (one.stage, one.symptom) != (other.stage, other.symptom):
        return False
    if one.symptom in (Symptom.EXCEPTION, Symptom.UNSUPPORTED, Symptom.INVALID_MODEL, Symptom.VERSION_SKEW):
        return one.types[:1] == other.types[:1] and normalised(one.message, names) == normalised(other.message, names)
    return one.symptom is not Symptom.CRASH or one.signal == other.signal


def _folder() -> Path:
    base = cache_root() / "scratch"
    base.mkdir(parents=True, exist_ok=True)
    return base


def _narrow(dtype: str) -> str:
    return "float32" if dtype == "float64" else dtype


def _widened(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {name: x.astype("float32") if x.dtype.name == "float16" else x for name, x in arrays.items()}


def _calibration(arrays: Mapping[str, Array]) -> dict[str, Array]:
    return {f"calib:{name.partition(':')[2]}": x for name, x in arrays.items()}


def _took(answer: Answer) -> float:
    return max((seconds for name, seconds in answer.seconds.items() if name != "call"), default=0.0)


def _outputs(answer: Answer, whole: bool) -> tuple[Array, ...]:
    names = sorted((name for name in answer.arrays if re.fullmatch(r"out\d+", name)), key=lambda name: int(name[3:]))
    return tuple(answer.arrays[name][None] if whole else answer.arrays[name] for name in names)


def _nothing() -> Subject:
    return Subject("", {}, [], [], {}, "", Given(dict, {}, batched=False), None)
