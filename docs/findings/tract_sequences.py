"""tract 0.23.9: there are no sequences and no optional values (not supported).

Rule: ONNX SequenceConstruct, SequenceEmpty and SplitToSequence 11, Optional 15: they give sequences and optional
values, which may be inputs of a graph, too.
Upstream: https://github.com/sonos/tract/issues/2665 (open).
Needs tract==0.23.9, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import onnx
import tract

os.chdir(tempfile.mkdtemp())

HEADER = '<ir_version: 8, opset_import: ["": 15]> g '
MODELS = {
    "SequenceConstruct": "(float[2] x) => (int64 y) { s = SequenceConstruct(x) y = SequenceLength(s) }",
    "SequenceEmpty": "(float[2] x) => (int64 y) { s = SequenceEmpty() t = SequenceInsert(s, x) y = SequenceLength(t) }",
    "SplitToSequence": "(float[2] x) => (int64 y) { s = SplitToSequence(x) y = SequenceLength(s) }",
    "Optional": "(float[2] x) => (bool y) { o = Optional(x) y = OptionalHasElement(o) }",
    "an input that is a sequence": "(seq(float[2]) s) => (int64 y) { y = SequenceLength(s) }",
    "an input that is optional": "(optional(float[2]) x) => (bool y) { y = OptionalHasElement(x) }",
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
