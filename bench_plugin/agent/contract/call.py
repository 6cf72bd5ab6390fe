"""The base of all calls: files, arrays and a folder beside the fields, and the announcement of stages."""

from __future__ import annotations

import copy
import os
from typing import TYPE_CHECKING, Any, Callable, ClassVar, Dict, List, Mapping, Optional, Sequence, TypeVar

from bench_plugin.agent.contract.records import Malformed, Record
from bench_plugin.agent.wire import Array

if TYPE_CHECKING:
    import numpy as np

    Arrays = Dict[str, np.ndarray[Any, Any]]

C = TypeVar("C", bound="Call")

INPUTS, SECOND_BINDING, CALIBRATION, FIXED = "in", "alt", "calib", "fix"  # prefixes of the names of arrays on the wire


def processors() -> int:
    """The number of processors of this machine, which is the default number of threads of a tool."""
    return os.cpu_count() or 1


def named_arrays(kind: str, arrays: Mapping[str, Any]) -> Dict[str, Any]:
    """``arrays`` [...] by the names of inputs, under their names on the wire; ``kind`` is one of the four prefixes."""
    return {"%s:%s" % (kind, name): values for name, values in arrays.items()}


class Files(Dict[str, str]):
    """Paths by the names of files. A missing one is an error in the call."""

    def __missing__(self, name: str) -> str:
        raise Malformed("file %r is missing; there are %s" % (name, ", ".join(sorted(self)) or "none"))


class Place:
    """The place of a call: its scratch folder, files, arrays [...], and the function that is told about stages.

    With ``deploy`` the model is only made ready: it is given the function that runs one sample, its inputs, and the
    function that makes the runtime's own calls on them.
    """

    def __init__(
        self, folder: str, files: Mapping[str, str], arrays: Mapping[str, Array], announce: Callable[[str], None],
        deploy: Optional[Callable[[Callable[[List[Any]], List[Any]], Sequence[Any], Callable[[], Any]], None]] = None,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.files = Files(files)
        self.arrays = dict(arrays)
        self.announce = announce
        self.deploy = deploy
        self.before: Any = None  # what :meth:`Call.prepare` recorded


def _unheard(stage: str) -> None:
    """Ignore a stage, for calls that are only described."""


NOWHERE = Place("", {}, {}, _unheard)


class Call(Record):
    """One request to an adapter: fields from the metadata, with arrays, files and a folder beside them.

    ``files`` are read-only copies; a call that changes one fails. Result files must be below ``folder``, which is
    emptied when the next call begins.
    """

    operation: ClassVar[str] = ""
    _place: ClassVar[Place] = NOWHERE

    def at(self: C, place: Place) -> C:
        """The same call at ``place``."""
        found = copy.copy(self)
        object.__setattr__(found, "_place", place)
        return found

    @property
    def place(self) -> Place:
        """The place of the call, for a call of another adapter from inside this one."""
        return self._place

    def prepare(self) -> None:
        """What the agent does before the adapter gets the call: nothing, but for a call that overrides it."""

    @property
    def folder(self) -> str:
        """The scratch folder."""
        return self._place.folder

    @property
    def files(self) -> Files:
        """Paths of the call's files by name, such as ``model.onnx``."""
        return self._place.files

    @property
    def inputs(self) -> Arrays:
        """Inputs by name, in their order, of the dtypes that the model declares.

        They are N samples as [N, ...]; if the call says ``once``, they are [...] as the model takes them.
        """
        return self._given(INPUTS)

    def path(self, name: str) -> str:
        """The path for a result file of that name."""
        return os.path.join(self.folder, name)

    def stage(self, name: str) -> None:
        """Tell the host that a stage begins now, from which its time limit counts the first time.

        The stages are build, reference, export, check, import, compile and run. Raises ValueError for a name of more
        than 200 characters.
        """
        self._place.announce(name)

    def named(self, names: Sequence[str]) -> Arrays:
        """The inputs [N, ...] with these names, in the order of ``names``; names without an input are left out."""
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
    """The first of the N samples of ``inputs`` [N, ...]: [1, ...] if ``batched``, else [...]."""
    return [values[:1] if batched else values[0] for values in inputs.values()]
