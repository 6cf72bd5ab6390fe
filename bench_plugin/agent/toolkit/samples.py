"""Samples: run a model on N samples one at a time and join the outputs; and seeded images."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from bench_plugin.agent import packs
from bench_plugin.agent.adapter import Reply
from bench_plugin.agent.arrays import from_numpy
from bench_plugin.agent.contract.compilers import CompilerCall, TimeCall
from bench_plugin.agent.toolkit.recorded import recorded
from bench_plugin.agent.toolkit.timing import Bind, Invoke, Run, Timed, Values, bound, timed
from bench_plugin.agent.wire import Array

if TYPE_CHECKING:
    import numpy as np

    from bench_plugin.agent.contract import RunCall, RunImportedCall

    Arrays = List[np.ndarray[Any, Any]]

ROWS = "#rows"  # suffix of the array that counts the rows of each of N samples, int64 [N]


def answered(
    call: Union[RunCall, RunImportedCall], run: Run, inputs: Sequence[Any], meta: Optional[Mapping[str, object]] = None,
    bind: Optional[Bind] = None,
) -> Reply:  # fmt: skip
    """The reply to a call that runs a model: outputs ``out0``, ``out1`` ... [N, ...], and ``meta``.

    ``run`` takes the inputs of one sample and returns its outputs. ``inputs`` are those of the call, [N, ...] over N
    samples (or [...] for a single run), in the order of ``run``'s. ``bind`` is as in :func:`results`. Raises what
    ``run`` raises.
    """
    if call.place.deploy is not None:  # the samples come later, one by one (agent/deployed.py)
        call.place.deploy(run, inputs, partial(_invokes, bind or bound(run), _each(call, inputs)))
        return Reply(dict(meta or {}))
    return reply(call, results(call, run, inputs, bind), meta)


def results(
    call: Union[RunCall, RunImportedCall], run: Run, inputs: Sequence[Any], bind: Optional[Bind] = None
) -> List[Values]:
    """The outputs of each of N samples, from ``inputs`` [N, ...].

    If the call says ``once`` or the model has no inputs, there is one run, whose ``inputs`` and outputs are [...]. A
    call to time the model gives the outputs of the sampled inferences, with figures that :func:`reply` adds. Then
    ``bind`` binds the inputs of one sample to the runtime's own call, which alone is timed, and gives what makes
    outputs of its result; without it all that ``run`` does is timed.
    """
    if isinstance(call, TimeCall) and call.scenario:
        from bench_plugin.agent.scenarios.loadgen import driven

        return driven(call, bind or bound(run), _each(call, inputs))
    if isinstance(call, TimeCall) and not call.sensors:
        return timed(call, bind or bound(run), _each(call, inputs))
    if isinstance(call, TimeCall):
        return recorded(call, bind or bound(run), run, _each(call, inputs))
    return [run(xs) for xs in _each(call, inputs)]


def reply(
    call: Union[RunCall, RunImportedCall], outputs: Sequence[Values], meta: Optional[Mapping[str, object]] = None
) -> Reply:
    """The reply with the ``outputs`` of :func:`results`, joined to [N, ...] over N samples; [...] for a single run.

    An adapter that inspects the outputs calls the two instead of :func:`answered`.
    """
    if _at_once(call):
        described, arrays = packs.reply(outputs[0])
        found = Reply({**(meta or {}), **described}, arrays)
    else:
        names = numbered(len(outputs[0]))
        found = Reply(dict(meta or {}), blobs(joined(outputs, names, call.batched, call.ragged)))
    if isinstance(outputs, Timed):
        found.meta["timing"] = outputs.said
        found.arrays.update(outputs.series)
        import numpy as np

        found.arrays["series:compute"] = from_numpy(np.array(outputs.singles, dtype=np.float64))
    return found


def _invokes(bind: Bind, samples: Sequence[Values]) -> List[Invoke]:
    """The runtime's own call on each of the samples, whose inputs are bound before."""
    return [bind(xs)[0] for xs in samples]


def _each(call: Union[RunCall, RunImportedCall], inputs: Sequence[Any]) -> List[Values]:
    """The inputs of each run."""
    if _at_once(call):
        return [list(inputs)]
    return _apart(inputs, call.batched, call.batch if isinstance(call, CompilerCall) else 1)


def _at_once(call: Union[RunCall, RunImportedCall]) -> bool:
    return call.once or not call.inputs


def one_by_one(run: Run, inputs: Sequence[Any], batched: bool) -> List[Values]:
    """The outputs of each of N samples, from inputs [N, ...]: ``run`` gets [1, ...] if ``batched``, else [...].

    What takes no inputs is run once.
    """
    return [run(xs) for xs in _apart(inputs, batched)]


def _apart(inputs: Sequence[Any], batched: bool, batch: int = 1) -> List[Values]:
    """The N samples of inputs [N, ...]: [1, ...] or, ``batch`` of them together, [batch, ...] if ``batched``."""
    if not inputs:
        return [[]]
    starts = range(0, len(inputs[0]), batch)
    return [[x[i : i + batch] if batched else x[i] for x in inputs] for i in starts]


def feeds(arrays: Mapping[str, Any], batched: bool) -> Iterator[Dict[str, Any]]:
    """Each of the N samples of ``arrays`` [N, ...] by name: as [1, ...] if ``batched``, else as [...].

    Without arrays there are no samples.
    """
    for index in range(min((len(values) for values in arrays.values()), default=0)):
        yield {name: x[index : index + 1] if batched else x[index] for name, x in arrays.items()}


def computed_in(dtypes: Iterable[str]) -> str:
    """The precision (fp32 or bf16) of outputs with these dtypes, numpy's names; "" if they differ or are others."""
    named = {"float32": "fp32", "bfloat16": "bf16"}
    computed = sorted({named[dtype] for dtype in dtypes if dtype in named})
    return computed[0] if len(computed) == 1 else ""


def doubled(values: Any) -> Any:
    """An array [...] of floating-point numbers as float64 of the same shape; any other array unchanged."""
    return values.astype("float64") if values.dtype.kind == "f" else values


class Ragged(ValueError):
    """An output has another shape for each input, as that of NonZero, so that no array holds all of them."""


def joined(outputs: Sequence[Arrays], names: Sequence[str], batched: bool, ragged: bool = False) -> Dict[str, Any]:
    """The outputs of N samples by name as [N, ...].

    ``outputs`` has for each sample its outputs, [1, ...] if ``batched``, else [...]. ``ragged`` ones are concatenated
    to [all rows, ...], with the number of rows of each sample in ``name#rows``, int64 [N]. Raises Ragged where the
    shape of an output that is not changes from sample to sample.
    """
    import numpy as np

    found: Dict[str, Any] = {}
    for index, name in enumerate(names):
        values = [result[index] for result in outputs]
        if ragged:
            found[name] = np.concatenate(values)
            found[name + ROWS] = np.array([len(value) for value in values], dtype=np.int64)
        else:
            batches = batched and all(value.ndim for value in values)  # the last one may be short
            for number, value in enumerate(values):
                if value.shape[int(batches) :] != values[0].shape[int(batches) :]:
                    shapes = "%s for input 0 and %s for input %d" % (list(values[0].shape), list(value.shape), number)
                    raise Ragged("output %s has the shape %s, which cannot be compared" % (name, shapes))
            found[name] = np.concatenate(values) if batches else np.stack(values)
    return found


def numbered(count: int) -> List[str]:
    """Names for outputs without names: out0, out1 ..."""
    return ["out%d" % index for index in range(count)]


def blobs(arrays: Mapping[str, Any], prefix: str = "") -> Dict[str, Array]:
    """numpy arrays of any shape [...] as blobs for a reply, with ``prefix`` before their names."""
    return {prefix + name: from_numpy(values) for name, values in arrays.items()}


def images(seed: int, shape: Sequence[int]) -> np.ndarray[Any, Any]:
    """Seeded images, float32 of ``shape`` [N, channels, height, width]: smooth fields of varied contrast, and noise."""
    import numpy as np

    rng = np.random.default_rng([seed, 0x1A6E])
    count, channels, height, width = shape
    coarse = rng.standard_normal((count, channels, 8, 8))
    rows, columns = (np.linspace(0, 7, size) for size in (height, width))
    low_r, low_c = np.minimum(rows.astype(int), 6), np.minimum(columns.astype(int), 6)
    part_r, part_c = (rows - low_r)[:, None], columns - low_c
    by_row = coarse[:, :, low_r] * (1 - part_r) + coarse[:, :, low_r + 1] * part_r
    field = by_row[..., low_c] * (1 - part_c) + by_row[..., low_c + 1] * part_c
    contrast = rng.random((count, 1, 1, 1)) * 1.5 + 0.5
    values: np.ndarray[Any, Any] = (field * contrast + 0.1 * rng.standard_normal(tuple(shape))).astype(np.float32)
    return values


def save_images(path: str, shape: Sequence[int]) -> None:
    """Write seeded images, float32 in [0, 1] of ``shape`` [N, height, width, channels], as an .npy file.

    Raises OSError where the file cannot be written.
    """
    import numpy as np

    count, height, width, channels = shape
    values = images(0, (count, channels, height, width)).transpose(0, 2, 3, 1)
    np.save(path, np.ascontiguousarray(1 / (1 + np.exp(-values)), dtype=np.float32), allow_pickle=False)
