"""tract 0.23.9: Upsample is missing, which files of opset 7 to 9 have (not supported).

Rule: ONNX Upsample 7 and 9; Resize took its place in opset 10, and tract has Resize.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import onnx
import tract

os.chdir(tempfile.mkdtemp())

HEADER = '<ir_version: 4, opset_import: ["": 9]> g '
MODELS = {
    "Upsample 9": """(float[1,1,1,2] x) => (float[1,1,1,4] y) { s = Constant<value=float[4]{1, 1, 1, 2}>()
        y = Upsample<mode="nearest">(x, s) }""",
}


def refusal(text):
    """What tract says of a model before anything runs, None where it takes it."""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    try:
        tract.onnx().load("m.onnx").into_model().into_runnable()
    except tract.TractError as error:
        lines = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines() if line.strip()]
        return " ".join([lines[0], *lines[1:][-1:]])[:160]


refused = {name: said for name, graph in MODELS.items() if (said := refusal(HEADER + graph))}
for name, said in refused.items():
    print(f"expected {name}: taken\ngot      {name}: {said}")
sys.exit(int(bool(refused)))
