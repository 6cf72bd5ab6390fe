"""Records: named, typed fields that are read from a frame's metadata once, and that the host writes as metadata."""

from __future__ import annotations

import collections.abc
from typing import Any, Dict, List, NamedTuple, Tuple, Type, TypeVar, Union, get_type_hints

KEY = "key"  # the key in a field's metadata for its name on the wire, if that differs from its own

R = TypeVar("R", bound="Record")


class Malformed(Exception):
    """A call that does not fit its record; the message names the operation, the field and what was expected."""


class Field(NamedTuple):
    """One field of a record: its name, its key on the wire, its type, and whether it is optional."""

    name: str
    key: str
    kind: Any
    optional: bool


class Record:
    """The base of frozen dataclasses that are plain data (JSON) on the wire.

    Declare them with ``eq=False, repr=False``: those methods are here, once. A dataclass would write its own as source
    that is compiled at each start of an agent.

    Types of fields are str, int, float, bool, Any, other records, ``Optional`` and ``Union`` of these,
    ``Tuple[X, ...]`` or ``Tuple[X, Y]`` (lists on the wire) and ``Mapping[str, X]`` (objects on the wire). Keys that
    no field has are ignored.
    """

    @classmethod
    def read(cls: Type[R], meta: Any, where: str) -> R:
        """The record that ``meta`` describes. Raises Malformed, which names the field and what was expected."""
        if not isinstance(meta, collections.abc.Mapping):
            raise Malformed("%s is %s; expected %s" % (where, _short(meta), cls.__name__))
        values: Dict[str, Any] = {}
        for field in fields_of(cls):
            if field.key in meta:
                values[field.name] = _read(field.kind, meta[field.key], "%s: field %r" % (where, field.key))
            elif not field.optional:
                raise Malformed("%s: field %r is missing; expected %s" % (where, field.key, name_of(field.kind)))
        return cls(**values)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in fields_of(type(self)))

    __hash__ = None  # type: ignore[assignment]  # objects are fields

    def __repr__(self) -> str:
        values = ("%s=%r" % (field.name, getattr(self, field.name)) for field in fields_of(type(self)))
        return "%s(%s)" % (type(self).__name__, ", ".join(values))

    def meta(self) -> Dict[str, Any]:
        """The record as plain data; optional fields that are None are left out."""
        found: Dict[str, Any] = {}
        for field in fields_of(type(self)):
            value = getattr(self, field.name)
            if value is not None or not field.optional:
                found[field.key] = _plain(value)
        return found


_KNOWN: Dict[type, List[Field]] = {}


def fields_of(kind: Type[Any]) -> List[Field]:
    """The fields of a record's class, in their order."""
    if kind not in _KNOWN:
        import dataclasses  # an agent starts without it

        hints = get_type_hints(kind)
        _KNOWN[kind] = [
            Field(one.name, one.metadata.get(KEY, one.name), hints[one.name], _has_default(one))
            for one in dataclasses.fields(kind)
        ]
    return _KNOWN[kind]


def name_of(kind: Any) -> str:
    """The name of a field's type in messages and documents: ``str``, ``list of int``, ``int or str`` ..."""
    origin, arguments = _parts(kind)
    if origin is Union:
        return " or ".join("null" if one is type(None) else name_of(one) for one in arguments)
    if origin is tuple:
        named = arguments[:1] if arguments[-1] is Ellipsis else arguments
        inner = " and ".join(map(name_of, named))
        return "list of %s" % ("(%s)" % inner if " " in inner else inner)
    if origin is collections.abc.Mapping:
        return "object of %s" % name_of(arguments[1])
    return "anything" if kind is Any else str(kind.__name__)


def _parts(kind: Any) -> Tuple[Any, Any]:
    """The parts of a generic type: tuple and (int, ...) for ``Tuple[int, ...]``, None and () for a plain class."""
    if type(kind).__name__ == "UnionType":  # int | str, of a newer Python than this file is written for
        return Union, kind.__args__
    return getattr(kind, "__origin__", None), getattr(kind, "__args__", ())


def _has_default(field: Any) -> bool:
    import dataclasses

    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def _read(kind: Any, given: Any, where: str) -> Any:
    origin, arguments = _parts(kind)
    if kind is Any:
        return given
    if origin is Union:
        return _read_one_of(arguments, given, where, name_of(kind))
    if origin is tuple and isinstance(given, (list, tuple)):
        kinds = [arguments[0]] * len(given) if arguments[-1] is Ellipsis else list(arguments)
        if len(kinds) == len(given):
            return tuple(_read(one, value, "%s[%d]" % (where, at)) for at, (one, value) in enumerate(zip(kinds, given)))
    elif origin is collections.abc.Mapping and isinstance(given, collections.abc.Mapping):
        return {str(key): _read(arguments[1], value, "%s[%r]" % (where, key)) for key, value in given.items()}
    elif isinstance(kind, type) and issubclass(kind, Record):
        return kind.read(given, where)
    elif kind is float and isinstance(given, (int, float)) and not isinstance(given, bool):
        return float(given)
    elif isinstance(kind, type) and isinstance(given, kind) and not (kind is int and isinstance(given, bool)):
        return given
    raise Malformed("%s is %s; expected %s" % (where, _short(given), name_of(kind)))


def _read_one_of(kinds: Any, given: Any, where: str, named: str) -> Any:
    """The value as the first type that fits. For an object, the error is that of the record that it is meant for."""
    for kind in kinds:
        if isinstance(kind, type) and issubclass(kind, Record) and isinstance(given, collections.abc.Mapping):
            return kind.read(given, where)
        try:
            return _read(kind, given, where)
        except Malformed:
            continue
    raise Malformed("%s is %s; expected %s" % (where, _short(given), named))


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.meta()
    if isinstance(value, collections.abc.Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
