"""Build a model from a declaration: nested tables of callables with arguments.

A table with ``callable`` is a call: ``positional`` and ``arguments`` may contain further such tables, ``children`` are
passed to ``add`` of the result one by one, and ``attribute = true`` takes the object itself without a call. TOML has no
null: ``none = [names]`` are keywords that are None, ``{ null = true }`` stands for None anywhere else.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Dict

from bench_plugin.agent.adapter import InvalidModel

if TYPE_CHECKING:
    from bench_plugin.agent.contract import ModelDescription


def build(model: ModelDescription) -> Any:
    """The object that ``model.spec`` declares; ``model.source`` is the file of a ``file.py:name`` callable.

    Raises InvalidModel for a name that does not exist, and for a file that asks where it lies.
    """
    try:
        return _made(model.spec, _Source(model.source_name, model.source))
    except NameError as error:
        if "'__file__'" not in str(error):
            raise
        raise InvalidModel(
            "%s uses __file__, which it does not have: it is run from its text alone, so that stored results depend on "
            "no other file. Make the weights with a seed, or give an exported file with --bench-onnx"
            % model.source_name
        ) from error


class _Source:
    """The model's own file, run once per build."""

    def __init__(self, name: str, text: str) -> None:
        self._name = name
        self._text = text
        self._names: Dict[str, Any] = {}

    def named(self, name: str) -> Any:
        if not self._names:
            self._names = {"__name__": self._name.replace(".py", "")}
            exec(compile(self._text, self._name, "exec"), self._names)  # the model's own file, sent by the host
        if name not in self._names:
            raise InvalidModel("%s defines no %r" % (self._name, name))
        return self._names[name]


def _made(spec: Any, source: _Source) -> Any:
    if isinstance(spec, list):
        return [_made(one, source) for one in spec]
    if not isinstance(spec, dict):
        return spec
    if spec == {"null": True}:
        return None
    if "callable" not in spec:
        return {key: _made(value, source) for key, value in spec.items()}
    target = _found(str(spec["callable"]), source)
    if spec.get("attribute"):
        return target
    keywords = {key: _made(value, source) for key, value in spec.get("arguments", {}).items()}
    keywords.update(dict.fromkeys(spec.get("none", ())))
    made = target(*(_made(one, source) for one in spec.get("positional", ())), **keywords)
    for child in spec.get("children", ()):
        made.add(_made(child, source))
    return made


def _found(name: str, source: _Source) -> Any:
    if ".py:" in name:
        return source.named(name.rpartition(":")[2])
    module, _, attribute = name.rpartition(".")
    try:
        return getattr(importlib.import_module(module), attribute)
    except ModuleNotFoundError:
        owner, _, inner = module.rpartition(".")  # a class of a module: module.Class.method
        try:
            return getattr(getattr(importlib.import_module(owner), inner), attribute)
        except (AttributeError, ValueError) as error:
            raise InvalidModel("callable %r does not exist: %s" % (name, error)) from error
    except (AttributeError, ValueError) as error:
        raise InvalidModel("callable %r does not exist: %s" % (name, error)) from error
