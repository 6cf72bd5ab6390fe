"""The identity of a cell across runs: one canonical text for each combination of values on the axes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.domain.axes import AXES
from bench_plugin.results.identity import axes_of, cell_text, short_text
from tests.results.nights import axes

USUAL = {axis.name: axis.usual for axis in AXES if axis.usual}
WORDS = st.text(max_size=8) | st.sampled_from(["fp32", "local", "a=b", "a b", "%20", "onnxruntime[xnnpack]"])
CELLS = st.fixed_dictionaries(
    {"check": st.sampled_from(["export", "timing"])},
    optional={"opset": st.integers(1, 30)} | dict.fromkeys(("model", "precision", "target", "new_axis"), WORDS),
)


def canonical(cell: dict[str, Any]) -> dict[str, str]:
    """What makes two cells one: the values that are not empty and not the usual ones."""
    return {name: str(value) for name, value in cell.items() if value and value != USUAL.get(name)}


@given(CELLS, CELLS)
def test_two_cells_have_one_text_exactly_if_their_axes_are_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert (cell_text(one) == cell_text(other)) == (canonical(one) == canonical(other))


@given(CELLS)
def test_the_axes_come_back_from_the_text(cell: dict[str, Any]) -> None:
    kept = {name: value for name, value in cell.items() if name in canonical(cell)}
    assert axes_of(cell_text(cell)) == kept
    assert "\n" not in cell_text(cell)


def test_the_text_is_for_people_and_does_not_change_with_the_order_or_with_new_axes_of_other_cells() -> None:
    text = "check=equivalence compiler=onnxruntime exporter=dynamo framework=pytorch model=lstm opset=17"
    assert cell_text(axes()) == text
    assert cell_text(dict(reversed(axes().items()))) == text
    assert cell_text({**axes(), "batch": None, "mode": ""}) == text
    assert cell_text({**axes(), "batch": 8}).startswith("batch=8 ")
    assert short_text(text) == "equivalence lstm pytorch dynamo 17 onnxruntime"


@pytest.mark.parametrize(("name", "usual"), USUAL.items())
def test_the_usual_value_and_its_absence_are_one_cell(name: str, usual: str) -> None:
    cell = {**axes(), name: usual}
    assert cell_text(cell) == cell_text({axis: value for axis, value in cell.items() if axis != name})
