"""The keys of ``numbers`` in a row, for each check: one declared table, from which docs/results.md is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

EXPORT, IMPORT, EQUIVALENCE, QUALITY = "export", "import", "equivalence", "quality"
OPERATOR, PROPERTY, TIMING, LAYERS = "operator", "property", "timing", "layers"
ROUND_TRIPS = (EXPORT, IMPORT)
COMPILED = (EQUIVALENCE, TIMING)  # what is timed is judged as equivalence judges it
BY_ERROR = (*ROUND_TRIPS, *COMPILED)
VERDICTS = (*BY_ERROR, QUALITY)
ALL = "all"
COMPUTED = "fp32 fp16 bf16 w16, graph weights"  # judged by E and M against a float64 reference
QUANTISED = "w8a8 w8a8-dyn w8 w4 w4a8 int4 uint4 int2 uint2"  # judged in steps of their scales, unless only weights
LAYERED = f"fp16 bf16 {QUANTISED}"  # judged layer by layer, where that is needed
REDUCED = "all but fp32"


@dataclass(frozen=True)
class Number:
    """One key of ``numbers``: the checks that have it, the precisions at which it is not None, and its meaning."""

    name: str
    checks: tuple[str, ...]
    precisions: str
    meaning: str


NUMBERS = (
    Number("E", BY_ERROR, COMPUTED, "error of the worst output: norm of the error / norm of what the inputs change"),
    Number("M", BY_ERROR, COMPUTED, "largest single error of that output / root mean square of what the inputs change"),
    Number("tolerance_E", BY_ERROR, COMPUTED, "what E may reach"),
    Number("tolerance_M", BY_ERROR, COMPUTED, "what M may reach"),
    Number("noise_E", BY_ERROR, COMPUTED, "E of runs that are right by construction at this precision"),
    Number("noise_M", BY_ERROR, COMPUTED, "M of those runs"),
    Number(
        "needed",
        (*BY_ERROR, OPERATOR),
        COMPUTED,
        "share of the tolerance that was used, where layers are judged in place by the worst of them; above 1 is no "
        "agreement",
    ),
    Number("max_abs", BY_ERROR, COMPUTED, "largest absolute difference, in units of the output"),
    Number("max_rel", BY_ERROR, COMPUTED, "largest absolute difference / largest absolute value of the reference"),
    Number("cosine", BY_ERROR, COMPUTED, "cosine between output and reference"),
    Number("outputs", BY_ERROR, COMPUTED, "the same of every output: name, status, numbers"),
    Number("truth", (*BY_ERROR, OPERATOR), ALL, "which reference the numbers were compared with, in words"),
    Number("end_to_end_E", BY_ERROR, COMPUTED, "E against the framework's own model: export and import together"),
    Number(
        "dynamic",
        BY_ERROR,
        ALL,
        "symbolic dimensions: `preserved`, `frozen` or `error: ...`; of a compiled model what its artefact declares, "
        "not run",
    ),
    Number(
        "mutants", VERDICTS, ALL, "mistakes made on purpose: `kind`, `killed` (detected), `ratio` (tolerances), `site`"
    ),
    Number("strength", VERDICTS, ALL, "share of the applicable mutants that this comparison would call a mismatch"),
    Number("mutants_applicable", VERDICTS, ALL, "how many mutants a comparison could notice"),
    Number("mutants_missed", VERDICTS, ALL, "names of those that would pass"),
    Number("mutants_not_noticeable", VERDICTS, ALL, "names of those whose effect is below the noise of float32"),
    Number("mutants_unchanged", VERDICTS, ALL, "names and sites of those that change nothing, even in float64"),
    Number("detections", BY_ERROR, "fp32", "of detection models: objects in the reference"),
    Number("stable", BY_ERROR, "fp32", "of detection models: objects that small perturbations do not change"),
    Number("missed", BY_ERROR, "fp32", "of detection models: stable objects that were not found"),
    Number("extra", BY_ERROR, "fp32", "of detection models: objects that the reference does not have"),
    Number("worst_overlap", BY_ERROR, "fp32", "of detection models: smallest intersection over union of a match"),
    Number("worst_score", BY_ERROR, "fp32", "of detection models: largest difference of scores"),
    Number("worst_mask", BY_ERROR, "fp32", "of detection models: smallest overlap of masks"),
    Number("boards", (*COMPILED, QUALITY), ALL, "with --bench-all-boards: verdict and figures of each board, by name"),
    Number("training", (*BY_ERROR, QUALITY), ALL, "how the weights were trained; None of seeded weights"),
    Number(
        "needs",
        (*COMPILED, QUALITY),
        ALL,
        "of trained models, one input: `operations` and `weights` of convolutions and fully connected layers, "
        "`parameters` (all initializers, also of shapes), `other_operations`, `lower_bound` (docs/needs.md)",
    ),
    Number(
        "approximation",
        COMPILED,
        REDUCED,
        "against the unrounded model, of the worst output or part: `E`, `sqnr_db` (dB), `truth`, `part`",
    ),
    Number("layers", COMPILED, LAYERED, "layers that were compared one by one"),
    Number("layer_inputs", COMPILED, LAYERED, "inputs on which layers were compared; of large ones the first few"),
    Number("layers_wrong", COMPILED, LAYERED, "how many of them are wrong"),
    Number("worst_steps", COMPILED, QUANTISED, "largest distance from a layer's unrounded result, in steps if any"),
    Number(
        "per_layer",
        COMPILED,
        LAYERED,
        "of every layer: `within`, `largest_steps`, `exception`, `undefined` (elements without a defined result); or "
        "its `E`, and `noise_E` by one rounding of its inputs where that was needed, or in fp16 and bf16 by its own",
    ),
    Number(
        "inside",
        COMPILED,
        QUANTISED,
        "quantised tensors that stay inside the layers that add them, because as outputs they change the result",
    ),
    Number(
        "converter",
        COMPILED,
        f"w16 {QUANTISED}",
        "quantised `constants`, `compared` with the file, `worst_steps` beyond what float32 may change",
    ),
    Number("whole_E", COMPILED, QUANTISED, "E of all layers together, unrounded, with the constants of the file"),
    Number("corrected_E", COMPILED, QUANTISED, "the same with the biases of the artefact, which its tool corrected"),
    Number(
        "converter_ranges",
        COMPILED,
        QUANTISED,
        "ranges `compared` with the calibration, `worst_steps`; `cut_E` of what right ones leave out",
    ),
    Number(
        "own_sqnr_db",
        COMPILED,
        QUANTISED,
        "by approximation: signal to noise (dB) of our own quantisation, worst float output",
    ),
    Number("short_of_own_db", COMPILED, QUANTISED, "by approximation: how far the tool lies under that, in dB"),
    Number("stable_inputs", COMPILED, QUANTISED, "inputs whose rounding no perturbation changes"),
    Number("end_to_end", COMPILED, QUANTISED, "errors of those inputs at the outputs, in steps"),
    Number(
        "accumulated",
        COMPILED,
        QUANTISED,
        "distance from the quantised graph, over that of this graph from the unrounded model",
    ),
    Number(
        "whole_by",
        COMPILED,
        LAYERED,
        "what shows that no layer is missing: stable inputs, layers in place, or distance from the quantised graph",
    ),
    Number("inputs", (QUALITY,), ALL, "images of the test set"),
    Number("accuracy", (QUALITY,), ALL, "share of them that were classified right"),
    Number("reference_accuracy", (QUALITY,), ALL, "the same of the framework's own model"),
    Number(
        "drop",
        (QUALITY,),
        ALL,
        "`top1` lost (of detectors `map`), its 95 % interval `lower` to `upper`, `agreement`, `mcnemar_p`",
    ),
    Number("top5", (QUALITY,), ALL, "share whose class is among the first five"),
    Number("precision", (QUALITY,), ALL, "precision of every class"),
    Number("sensitivity", (QUALITY,), ALL, "sensitivity of every class"),
    Number("mean_precision", (QUALITY,), ALL, "mean over the classes"),
    Number("mean_sensitivity", (QUALITY,), ALL, "mean over the classes"),
    Number("g_mean", (QUALITY,), ALL, "geometric mean of the sensitivities"),
    Number("confusion", (QUALITY,), ALL, "images of class i (row) that were called j (column)"),
    Number("objects", (QUALITY,), ALL, "of detectors: objects in the test set"),
    Number("map", (QUALITY,), ALL, "of detectors: mean average precision over overlaps from 0.5 to 0.95"),
    Number("map50", (QUALITY,), ALL, "of detectors: mean average precision at an overlap of 0.5"),
    Number("reference_map", (QUALITY,), ALL, "of detectors: `map` of the framework's own model"),
    Number("map_of_classes", (QUALITY,), ALL, "of detectors: average precision of every class over overlaps"),
    Number("average_precision", (QUALITY,), ALL, "of detectors: mean over the classes (`mean`) at each `overlap`"),
    Number("recall_precision", (QUALITY,), ALL, "of detectors: by class the curve at an overlap of 0.5"),
    Number("category", (OPERATOR,), "fp32", "ONNX's group of tests: node, simple, pytorch-operator ..."),
    Number("operators", (OPERATOR,), "fp32", "operators of the case's graph"),
    Number("opset", (OPERATOR,), "fp32", "opset of the case"),
    Number("ir", (OPERATOR,), "fp32", "IR version of the case"),
    Number(
        "deterministic",
        (EQUIVALENCE, OPERATOR),
        ALL,
        "whether a second compilation and run gave the same bits; of a sample, of all cells in profile `full`",
    ),
    Number("artefact_same_twice", ("equivalence",), ALL, "of outputs that differ: whether the artefacts are the same"),
    Number("rule", (OPERATOR,), "fp32", "the rule that was used, of the output furthest off: 2.5 ULP"),
    Number("strict", (OPERATOR,), "fp32", "`pass` or `fail` by that rule"),
    Number("stock", (OPERATOR,), "fp32", "`pass` or `fail` by the tolerance of ONNX's own runner"),
    Number("converted", (OPERATOR,), "fp32", "of a case that is too new: what its form at an older opset gave"),
    Number("search", (PROPERTY,), "fp32", "`quick` or `nightly`"),
    Number("tried", (PROPERTY,), "fp32", "generated graphs that were tried"),
    Number("valid", (PROPERTY,), "fp32", "share of them that were valid"),
    Number("agreed", (PROPERTY,), "fp32", "how many are within their operators' rules"),
    Number("judged", (PROPERTY,), "fp32", "how many gave numbers to judge"),
    Number("known", (PROPERTY,), "fp32", "how many failed as a known failure does"),
    Number("refused", (PROPERTY,), "fp32", "how many the tool does not implement"),
    Number("silent", (PROPERTY,), "fp32", "how many have nothing to compare with"),
    Number("invalid", (PROPERTY,), "fp32", "how many were not valid graphs"),
    Number("first", (PROPERTY,), "fp32", "the first reason for each of these"),
    Number("seed", (PROPERTY,), "fp32", "seed of a random search"),
    Number("database", (PROPERTY,), "fp32", "folder of a random search's examples"),
    Number(
        "timing",
        COMPILED,
        ALL,
        "times in seconds, intervals and error budget (docs/timing.md); of emulated boards only `instructions` of the "
        "model's call, `median`, `min`, `max` over `n`",
    ),
    Number(
        "task",
        (TIMING,),
        ALL,
        "of trained models: `metric`, `accuracy` and `top5`, or `map` and `map50`, over `inputs` of the test set, "
        "by the `artefact` (a hash)",
    ),
    Number(
        "against",
        (TIMING,),
        ALL,
        "with --bench-against: `run`, `verdict`, `d` (log of the ratio), `half_width`, `effect`, medians of `base` and "
        "`head`; or the `reason` why nothing was measured (docs/comparison.md)",
    ),
    Number(
        "scenarios",
        (TIMING,),
        ALL,
        "with --bench-scenarios: of each `result`, latencies (s) or samples `per_second`, the same of `null` queries, "
        "and the `note` that this is not an MLPerf result; or `symptom` and `reason` (docs/scenarios.md)",
    ),
    Number("series", (TIMING,), ALL, "samples by name: `file`, beside the results file, and number of `samples`"),
    Number("power", (TIMING,), ALL, "of every meter: `base`, `idle`, `full` (W), `energy_per_inference` (J), `absent`"),
    Number(
        "determinism",
        (TIMING,),
        ALL,
        "equal bits over `repeats`, `launches`, `threads`, `positions`; `tails`, `spread`",
    ),
    Number("machine", (TIMING,), ALL, "state of the machine that did the work, `clock_seen_hz`, `throttled`"),
    Number("sampler", (TIMING,), ALL, "what sampling cost: `hz`, `late` ticks, `share` of a core; or `failed`"),
    Number(
        "levels",
        (LAYERS,),
        ALL,
        "a line for each distinct layer (`layers`), stack (`stacks`) and named block (`blocks`) with verdict and "
        "times, the `model` beside them, the `sum` of its layers, means by `kinds` (docs/layers.md)",
    ),
    Number("signature", (PROPERTY,), "fp32", "of a failure: stage, symptom, operators, message"),
    Number("seen", (PROPERTY,), "fp32", "every known signature that came again, with the row of its expectation"),
    Number("found", (PROPERTY,), "fp32", "every new signature with its smallest example"),
)


def complete(check: str, measured: Mapping[str, Any]) -> dict[str, Any]:
    """``numbers`` of a row: every key of the check, None where it was not measured or does not apply."""
    return {number.name: None for number in NUMBERS if check in number.checks} | dict(measured)


def measured(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Only the measured numbers: the inverse of :func:`complete`."""
    return {name: value for name, value in numbers.items() if value is not None}


def markdown_table() -> str:
    """The table of all keys, as docs/results.md shows it."""
    lines = ["| key | checks | precisions | content |", "|---|---|---|---|"]
    lines += [f"| `{one.name}` | {', '.join(one.checks)} | {one.precisions} | {one.meaning} |" for one in NUMBERS]
    return "\n".join(lines)
