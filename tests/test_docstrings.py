"""Public docstrings say the shapes of arrays and the errors raised; read from the source, without importing it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "bench_plugin"
WITH_ARRAYS = ("compare", "pipeline/tasks/inputs.py", "agent")
TEMPLATES = PACKAGE / "diagnosis" / "templates"  # the texts of scripts, which nobody calls
ARRAY_TYPES = frozenset({"Array", "Arrays", "ndarray", "Tensor", "Value", "Values"})
SHAPE = re.compile(r"\[[^\]]+\]|\bscalars?\b|\bshapes?\b")


@dataclass(frozen=True)
class Function:
    """A public function or method; ``docstring`` includes that of its class."""

    name: str
    node: ast.FunctionDef
    docstring: str


def sources(*parts: str) -> Iterator[tuple[str, str]]:
    """The name and the text of every Python file at or below these parts of the package."""
    for part in parts:
        place = PACKAGE / part
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            if TEMPLATES not in path.parents:
                yield str(path.relative_to(ROOT)), path.read_text("utf-8")


def public_functions(name: str, text: str) -> Iterator[Function]:
    """The public functions of a file, and the public methods and ``__init__`` of its public classes."""
    yield from _public(ast.parse(text), name, "")


def _public(owner: ast.Module | ast.ClassDef, place: str, above: str) -> Iterator[Function]:
    for node in owner.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _public(node, f"{place}: {node.name}", ast.get_docstring(node) or "")
        if isinstance(node, ast.FunctionDef) and (node.name == "__init__" or not node.name.startswith("_")):
            yield Function(f"{place}: {node.name}", node, f"{above}\n{ast.get_docstring(node) or ''}")


def without_shape(name: str, text: str) -> list[str]:
    """The public functions and classes with arrays in their signature or fields and no shape in their docstring."""
    module = ast.parse(text)
    arrays = ARRAY_TYPES | set(_aliases(module))
    functions = [(one.name, _annotations(one.node), one.docstring) for one in public_functions(name, text)]
    classes = [
        (f"{name}: {node.name}", _fields(node), ast.get_docstring(node) or "")
        for node in module.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    return [
        place
        for place, annotations, docstring in (*functions, *classes)
        if arrays & set(_names(annotations)) and not SHAPE.search(docstring)
    ]


def without_raises(name: str, text: str) -> list[str]:
    """The public functions that raise an error by its name and do not say so in their docstring."""
    return [
        one.name for one in public_functions(name, text) if _raised(one.node.body) and "Raises" not in one.docstring
    ]


def _aliases(module: ast.Module) -> Iterator[str]:
    """Names that a file gives to types of arrays, such as ``Outputs = Mapping[str, Array]``."""
    for node in ast.walk(module):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript) and _names_arrays(node.value):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def _names_arrays(expression: ast.expr) -> bool:
    return bool(ARRAY_TYPES & set(_names([expression])))


def _annotations(node: ast.FunctionDef) -> list[ast.expr]:
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    found = [one.annotation for one in every if one is not None]
    return [one for one in [*found, node.returns] if one is not None]


def _fields(node: ast.ClassDef) -> list[ast.expr]:
    return [
        one.annotation
        for one in node.body
        if isinstance(one, ast.AnnAssign) and not (isinstance(one.target, ast.Name) and one.target.id.startswith("_"))
    ]


def _names(expressions: Iterable[ast.expr]) -> Iterator[str]:
    for expression in expressions:
        for node in ast.walk(expression):
            if isinstance(node, ast.Name):
                yield node.id
            if isinstance(node, ast.Attribute):
                yield node.attr
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                yield node.value


def _raised(body: Sequence[ast.stmt]) -> set[str]:
    """Names of classes that statements raise themselves, functions inside them excluded."""
    found: set[str] = set()
    nodes: list[ast.AST] = list(body)
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = error.attr if isinstance(error, ast.Attribute) else error.id if isinstance(error, ast.Name) else ""
            found.update({name} if name[:1].isupper() and name != "AssertionError" else ())
        nodes.extend(ast.iter_child_nodes(node))
    return found


def test_functions_on_arrays_say_their_shapes() -> None:
    missing = [one for name, text in sources(*WITH_ARRAYS) for one in without_shape(name, text)]
    assert not missing, "say the shapes, such as [N, ...] over N inputs, in the docstrings of:\n" + "\n".join(missing)


def test_functions_that_raise_an_error_say_so() -> None:
    missing = [one for name, text in sources(".") for one in without_raises(name, text)]
    assert not missing, "say 'Raises X ...' in the docstrings of:\n" + "\n".join(missing)


SOURCE = '''
Outputs = Mapping[str, Array]

class Sums:
    """{of_class}"""

    def total(self, outputs: Outputs) -> float:
        """{of_method}"""
        if not outputs:
            raise errors.UsageError("empty")
        def inner() -> None:
            raise ValueError

    def _hidden(self, outputs: Outputs) -> float:
        raise KeyError
'''


@pytest.mark.parametrize(
    ("of_class", "of_method", "shape", "raises"),
    [
        ("Sums.", "The total.", False, False),
        ("Sums of outputs [N, ...].", "The total.", True, False),
        ("Sums.", "The total of outputs [N, ...]. Raises UsageError for none.", True, True),
        ("Sums.", "The total, of any shape.", True, False),
    ],
)
def test_what_counts_as_said(of_class: str, of_method: str, *, shape: bool, raises: bool) -> None:
    text = SOURCE.format(of_class=of_class, of_method=of_method)
    assert without_shape("a.py", text) == ([] if shape else ["a.py: Sums: total"])
    assert without_raises("a.py", text) == ([] if raises else ["a.py: Sums: total"])


def test_fields_count_too() -> None:
    text = 'class Run:\n    """{}"""\n\n    outputs: Mapping[str, Array]\n    _own: Array\n'
    assert without_shape("a.py", text.format("A run.")) == ["a.py: Run"]
    assert without_shape("a.py", text.format("Outputs [N, ...].")) == []


def test_an_error_that_is_raised_again_need_not_be_said() -> None:
    text = 'def run() -> None:\n    """Run."""\n    try:\n        go()\n    except OSError as error:\n'
    assert without_raises("a.py", text + "        raise error\n") == []
