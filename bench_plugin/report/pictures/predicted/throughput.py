"""Heat maps of predicted inputs per second: targets by models, a map for each precision."""

from __future__ import annotations

from bench_plugin.report.pictures.heatmap import BLUES, heatmap
from bench_plugin.report.pictures.picture import Specification

NAME = "predictions"
DESCRIPTION = (
    "Heat maps of the predicted inputs per second, one for each precision: a row for each target in each of its modes, "
    "a column for each model. A field is empty where the target does not compute the precision, or no peak is known. "
    "A star marks a precision that runs in a wider datatype."
)
KEY = "inputs per second; * runs in a wider datatype; < is an upper bound, because something is not known"


def specification() -> Specification:
    """Records are those of heatmap.py, divided by ``precision``."""
    scale = {"type": "log", "range": list(BLUES)}
    tooltip = ("model", "target", "mode", "precision", "bound", "emulated", "assumption")
    legend = {"title": "inputs per second", "format": ".3~s"}
    return heatmap(DESCRIPTION, divided_by="precision", scale=scale, legend=legend, tooltip=tooltip, columns=2, key=KEY)
