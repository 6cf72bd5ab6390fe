"""What every call has: files, arrays and a folder beside its fields, and the stage that it announces."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Dict, List, Mapping, Sequence, TypeVar

from bench_plugin.agent.contract.records import Malformed, Record
from bench_plugin.agent.wire import Array

if TYPE_CHECKING:
    import numpy as np

    Arrays = Dict[str, np.ndarray[Any, Any]]

C = TypeVar("C", bound="Call")

INPUTS, SECOND_BINDING, CALIBRATION, FIXED = "in", "alt", "calib", "fix"  # prefixes of arrays on the wire


def processors() -> int:
    """How many processors this machine has: the threads that a tool uses where a call does not say how many."""
    return os.cpu_count() or 1


def named_arrays(kind: str, arrays: Mapping[str, Any]) -> Dict[str, Any]:
    """Arrays by the names of inputs, under the names that they have on the wire; ``kind`` is one of the four."""
    return {"%s:%s" % (kind, name): values for name, values in arrays.items()}


class Files(Dict[str, str]):
    """Paths by the names of files. One that is missing is an error of whoever made the call."""

    def __missing__(self, name: str) -> str:
        raise Malformed("file %r is missing; there are %s" % (name, ", ".join(sorted(self)) or "none"))


class Place:
    """Where a call is carried out: a scratch folder, the files and arrays that came along, and who hears of stages."""

    def __init__(
        self, folder: str, files: Mapping[str, str], arrays: Mapping[str, Array], announce: Callable[[str], None]
    ) -> None:
        self.folder = folder
        self.files = Files(files)
        self.arrays = dict(arrays)
        self.announce = announce


def _unheard(stage: str) -> None:
    """Nobody listens where a call is only described."""


NOWHERE = Place("", {}, {}, _unheard)


class Call(Record):
    """One request to an adapter: fields from the metadata, with arrays, files and a folder beside them.

    ``files`` are never written to; result files must lie below ``folder``, which is emptied when the next call begins.
    """

    operation: ClassVar[str] = ""
    _place: ClassVar[Place] = NOWHERE

    def at(self: C, place: Place) -> C:
        """The same call, carried out at ``place``."""
        found = copy.copy(self)
        object.__setattr__(found, "_place", place)
        return found

    @property
    def place(self) -> Place:
        """Where the call is carried out, for a call of another adapter that is made on the way."""
        return self._place

    @property
    def folder(self) -> str:
        """The scratch folder."""
        return self._place.folder

    @property
    def files(self) -> Files:
        """Readable paths by the names of files, such as ``model.onnx``."""
        return self._place.files

    @property
    def inputs(self) -> Arrays:
        """Inputs by name, in their order.

        N samples as [N, ...]; where a call says ``once``, tensors as the model takes them.
        """
        return self._given(INPUTS)

    def path(self, name: str) -> str:
        """Where a result file of that name belongs."""
        return os.path.join(self.folder, name)

    def stage(self, name: str) -> None:
        """Tell the host that a stage begins now: the deadline counts from here.

        Stages are build, reference, export, check, import, compile and run.
        """
        self._place.announce(name)

    def named(self, names: Sequence[str]) -> Arrays:
        """Those of the inputs that ``names`` has, in its order."""
        given = self.inputs
        return {name: given[name] for name in names if name in given}

    def _given(self, prefix: str) -> Arrays:
        from bench_plugin.agent.arrays import to_numpy

        start = prefix + ":"
        found = self._place.arrays.items()
        return {name[len(start) :]: to_numpy(array) for name, array in found if name.startswith(start)}

    def _array(self, name: str) -> np.ndarray[Any, Any]:
        from bench_plugin.agent.arrays import to_numpy

        if name not in self._place.arrays:
            raise Malformed("%s: array %r is missing; expected beside the inputs" % (self.operation, name))
        return to_numpy(self._place.arrays[name])


def one_sample(inputs: Mapping[str, Any], batched: bool) -> List[Any]:
    """The first of N samples as a model takes it: a batch of one, or without a batch where ``batched`` is false."""
    return [values[:1] if batched else values[0] for values in inputs.values()]
