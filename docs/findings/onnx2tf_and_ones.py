"""onnx2tf 1.29.24: And and comparisons with a tensor of sizes of one give their result with the axes in another order.

Rule: ONNX And 7 and Less 13 broadcast as NumPy does: [2, 3, 4] and [1, 1, 1] give [2, 3, 4]. onnx2tf was told to leave
both inputs as they are, and gives [2, 4, 3]; with [1, 3, 1] for the second one it gives [2, 3, 4]. Equal, LessOrEqual,
Greater and GreaterOrEqual are the same.
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


def sizes(name, kind, first, second):
    """The sizes that onnx2tf gives the result of an operator of two inputs, of which the first has the larger sizes."""
    graph = f"g ({kind}{list(first)} a, {kind}{list(second)} b) => (bool{list(first)} y) {{ y = {name}(a, b) }}"
    model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 17]> ' + graph)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    options = {"disable_model_save": True, "non_verbose": True, "keep_shape_absolutely_input_names": ["a", "b"]}
    with contextlib.redirect_stdout(io.StringIO()):
        net = onnx2tf.convert("m.onnx", output_folder_path="out", **options)
    return tuple(net.outputs[0].shape.as_list())


wanted, wrong = (2, 3, 4), False
for name, kind in (("And", "bool"), ("Less", "float")):
    got = [sizes(name, kind, wanted, other) for other in ((1, 1, 1), (1, 3, 1))]
    print("expected", name, [wanted] * 2)
    print("got     ", name, got)
    wrong |= any(one != wanted for one in got)
sys.exit(int(wrong))
