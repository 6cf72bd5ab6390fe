"""Of a mismatch by fast arithmetic: what the same tool gives with the options that make its arithmetic exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from bench_plugin.checks.compiled.compiling import Compiled, CompiledModels
from bench_plugin.compare.converted import CONVERTER
from bench_plugin.compare.precision import WRONG
from bench_plugin.compare.verdict import AGREE, MISMATCH, UNVERIFIED, Comparison
from bench_plugin.pipeline.cell_run import CellRun
from bench_plugin.pipeline.stages import Done


def with_exact(
    run: CellRun, models: CompiledModels, found: Compiled, comparison: Comparison, compare: Callable[[Done], Comparison]
) -> Comparison:
    """A mismatch whose reason says whether the tool agrees by exact arithmetic, and by which option it does that.

    Weights that a tool rounds in a way that is not known are such a mismatch, too, where it agrees: the way is known
    then, and fast arithmetic leads away from it.
    ``compare`` judges that run by the rule that found the mismatch; what it logs is not the cell's. The comparison is
    returned as it is where the tool declares no such option (``exact``) for the precision of the cell and an operator
    of its file, where the run chose it already, where the result is so wrong that no rounding explains it, and, with a
    flag of the cell, where that run failed. Wrong constants are no arithmetic.
    """
    if comparison.reason.startswith(CONVERTER):
        return comparison
    options = models.compile_tasks.exact_options(run.cell, found.file.check.meta["check"]["operators"])
    error = run.log.numbers.get("E")
    if not options or error is None or not error < WRONG:
        return comparison
    ran = models.with_options(run, found, options)
    adapter = models.compile_tasks.adapter(run.cell).name
    said = " ".join(f"--bench-option {adapter}.{name}={value}" for name, value in options.items())
    if ran.failure is not None:
        run.log.flag(f"with {said} it fails: {ran.failure.symptom}: {ran.failure.message}")
        return comparison
    with run.log.kept():
        exact = compare(ran)
    if exact.status == UNVERIFIED:
        return comparison
    agrees = exact.status == AGREE
    reason = f"{comparison.reason}; with {said} {'it agrees' if agrees else 'it is wrong as well'}{_error(exact)}"
    if not agrees:
        return replace(comparison, reason=reason)
    return replace(comparison, status=MISMATCH, kind=None, reason=reason)


def _error(comparison: Comparison) -> str:
    error = comparison.numbers.get("E")
    return "" if error is None else f" (E {error:.2e})"
