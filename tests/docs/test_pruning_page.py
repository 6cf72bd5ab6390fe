"""The tables of docs/pruning.md are what its rows say: they are made of docs/pruning.json."""

from __future__ import annotations

import json

from bench_plugin.characterise.pruning.orthogonality import orthogonality
from bench_plugin.characterise.pruning.tables import markdown
from bench_plugin.characterise.pruning.variants import Variant
from tests.docs.fences import ROOT


def test_the_tables_are_made_of_the_stored_variants() -> None:
    said = json.loads((ROOT / "docs/pruning.json").read_text("utf-8"))
    found = [Variant(**{**row, "wrong": tuple(row["wrong"])}) for row in said["variants"]]
    both = orthogonality(found)
    page = (ROOT / "docs/pruning.md").read_text("utf-8")
    _, _, tables = page.partition("<!-- tables: bench pruning --markdown -->")
    assert tables.partition("<!-- end of tables -->")[0].strip() == markdown(found, both)
    assert [one.ratio for one in both] == [row["ratio"] for row in said["orthogonality"]]
    assert {one.kept for one in found} == {100, 50, 25} and {one.of["model"] for one in found} == {
        "digits_cnn",
        "digits_mlp",
    }
