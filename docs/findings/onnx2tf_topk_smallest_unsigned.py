"""onnx2tf 1.29.24: TopK of the smallest unsigned integers: TypeError.

Rule: ONNX TopK 11, attribute largest: "Whether to return the top-K largest or smallest elements"; it takes unsigned types.
onnx2tf negates the numbers, takes the largest and negates them again. tf.negative takes signed types only; int32 is converted.
Upstream: none known.
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
    "TopK of uint8, smallest": "(uint8[4] x) => (uint8[1] y, int64[1] i) <int64[1] k = {1}> { y, i = TopK<largest=0>(x, k) }",
    "TopK of uint16, smallest": "(uint16[4] x) => (uint16[1] y, int64[1] i) <int64[1] k = {1}> { y, i = TopK<largest=0>(x, k) }",
    "TopK of uint32, smallest": "(uint32[4] x) => (uint32[1] y, int64[1] i) <int64[1] k = {1}> { y, i = TopK<largest=0>(x, k) }",
    "TopK of uint64, smallest": "(uint64[4] x) => (uint64[1] y, int64[1] i) <int64[1] k = {1}> { y, i = TopK<largest=0>(x, k) }",
    "TopK of int32, smallest": "(int32[4] x) => (int32[1] y, int64[1] i) <int64[1] k = {1}> { y, i = TopK<largest=0>(x, k) }",
}


def result(text):
    """What comes of a model that is written as text."""
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 13]> g ' + text)
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
