"""onnx2tf 1.29.24: inputs and outputs that are left out are looked up by an empty name, or past the end of the list.

Rule: ONNX's IR, optional inputs and outputs: one at the end may be missing, any other has an empty name.
Needs onnx2tf==1.29.24, tensorflow-cpu==2.21.0 and onnx. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import contextlib
import io
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import onnx.parser
import onnx2tf

os.chdir(tempfile.mkdtemp())
MODELS = {
    "DFT, no dft_length": "20 (float[1,8,1] x) => (float[1,8,2] y) <int64 a = {1}> { y = DFT(x, , a) }",
    "STFT, no window": "17 (float[1,128,1] x) => (float[1,A,B,2] y) <int64 s={8}, int64 l={9}> { y = STFT(x, s, , l) }",
    "STFT, no frame_length": (
        "17 (float[1,128,1] x, float[16] w) => (float[1,A,B,2] y) <int64 s={8}> { y = STFT(x, s, w) }"
    ),
    "OptionalHasElement, empty name": '18 () => (bool y) { y = OptionalHasElement("") }',
    "OptionalHasElement, no input": "18 () => (bool y) { y = OptionalHasElement() }",
    "SequenceInsert": (
        "11 (float[2] x) => (int64 y) { s = SequenceConstruct(x) t = SequenceInsert(s, x) y = SequenceLength(t) }"
    ),
    "Attention": "23 (float[1,1,2,4] q) => (float[1,1,2,4] y, float[1,1,2,2] z) { y, , , z = Attention(q, q, q) }",
    "Scan, no sequence_lens": (
        "8 (float[1,2] i, float[1,3,2] x) => (float[1,2] y, float[1,3,2] z) { y, z = Scan<num_scan_inputs=1, body = b "
        "(float[2] s, float[2] n) => (float[2] t, float[2] o) { t = Add(s, n) o = Neg(t) }>(, i, x) }"
    ),
}


def result(text):
    """What comes of a model that is written as text."""
    opset, text = text.split(maxsplit=1)
    model = onnx.parser.parse_model(
        f"""<ir_version: {8 if opset == "8" else 10}, opset_import: ["": {opset}]> g {text}"""
    )
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    names = [value.name for value in model.graph.input] or None
    options = {"not_use_onnxsim": True, "disable_model_save": True, "non_verbose": True}  # onnxsim changes nothing here
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            onnx2tf.convert("m.onnx", output_folder_path="out", keep_shape_absolutely_input_names=names, **options)
    except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
        return f"{type(error).__name__} {' '.join(str(error).split())[:160]}"
    return "converted"


results = {name: result(text) for name, text in MODELS.items()}
for name, got in results.items():
    print(f"expected  {name}: converted")
    print(f"got       {name}: {got}")
sys.exit(int(set(results.values()) != {"converted"}))
