"""OpenVINO 2026.4.1 (not supported): inputs of Dropout, STFT and SplitToSequence are taken as constants only.

Rule: ONNX Dropout 13 (training_mode), STFT 17 (frame_step, frame_length) and SplitToSequence 11 (split): they are
inputs, and nothing says that they must be constants. In each of onnx's own cases here they are inputs of the graph. Of
the constants, Dropout's training_mode may only be false.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys
import warnings

import openvino as ov
from onnx import parser
from onnx.backend.test import loader

CASES = {
    "Dropout, training_mode": "test_training_dropout_default",
    "STFT, frame_step and frame_length": "test_stft",
    "STFT, frame_step": "test_stft_with_window",
    "SplitToSequence, split": "test_split_to_sequence_1",
}

warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
named = {case.name: case.model for case in loader.load_model_tests(kind="node")}
models = {what: named[name] for what, name in CASES.items()}
models["Dropout, a constant training_mode of true"] = parser.parse_model("""
<ir_version: 8, opset_import: ["": 13]> g (float[4] x) => (float[4] y) <float ratio = {0}, bool training = {1}> {
    y = Dropout(x, ratio, training)
}""")
core = ov.Core()
refused = 0
for what, model in models.items():
    try:
        core.read_model(model.SerializeToString())
    except RuntimeError as error:
        refused += 1
        said = str(error).split("Failed operations detailed log:")[-1]
        print(f"expected  {what}: converted")
        print(f"got       {what}:", " ".join(said.split())[:250])
sys.exit(int(refused > 0))
