"""tract 0.23.9: inputs of 23 operators that may be computed are taken as constants only (not supported).

Rule: ONNX, opset 18: these are inputs of the operators, and may differ from run to run.
Upstream: none known.
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import onnx
import tract

os.chdir(tempfile.mkdtemp())

ONE = "(float[4] x, int64[1] n) => (float[m] y) {{ y = {} }}"
SLICE = "(float[4] x, int64[1] s, int64[1] e, int64[1] a, int64[1] t) => (float[m] y) {{ {} y = Slice({}) }}"
ZERO = "z = Constant<value=int64[1]{0}>()"
REDUCED = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")
WINDOW = "(int64 n) => (float[m] y) {{ y = {}(n) }}"
HEADER = '<ir_version: 8, opset_import: ["": 18]> g '
MODELS = {
    **{f"Reduce{o} axes": f"(float[2,2] x, int64[1] a) => (float[m,n] y) {{ y = Reduce{o}(x, a) }}" for o in REDUCED},
    "BatchNormalization statistics": """(float[1,1] x, float[1] s, float[1] b, float[1] m, float[1] v) => (float[1,1] y)
        { y = BatchNormalization(x, s, b, m, v) }""",
    "CumSum axis": "(float[3] x, int64 a) => (float[3] y) { y = CumSum(x, a) }",
    "Expand shape": ONE.format("Expand(x, n)"),
    "MelWeightMatrix": "(int32 n, float f) => (float[i,j] y) { y = MelWeightMatrix(n, n, n, f, f) }",
    "Pad pads": "(float[4] x, int64[2] n) => (float[m] y) { y = Pad(x, n) }",
    "QuantizeLinear y_scale": "(float[4] x, float s, uint8 z) => (uint8[4] y) { y = QuantizeLinear(x, s, z) }",
    "Slice steps": SLICE.format(ZERO, "x, s, e, z, t"),
    "Slice axes": SLICE.format("", "x, s, e, a"),
    "Split split": "(float[6] x, int64[2] n) => (float[i] y, float[j] z) { y, z = Split(x, n) }",
    "STFT frame_length": '(float[1,128,1] x, int64 s, int64 n) => (float[1,i,j,2] y) { y = STFT(x, s, "", n) }',
    "STFT window": "(float[1,128,1] x, int64 s, float[16] w) => (float[1,i,j,2] y) { y = STFT(x, s, w) }",
    "Tile repeats": ONE.format("Tile(x, n)"),
    **{f"{op} size": WINDOW.format(op) for op in ("BlackmanWindow", "HammingWindow", "HannWindow")},
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
