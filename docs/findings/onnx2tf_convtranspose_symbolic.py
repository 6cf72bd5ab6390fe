"""onnx2tf 1.29.24: ConvTranspose fails where the batch is symbolic: its name is taken for a size.

Rule: ONNX ConvTranspose 11, "input data tensor from previous layer; has size (N x C x H x W), where N is the batch
size"; ONNX IR, "Static tensor shapes": a dimension may be the name of a size that is not known.
The declared shape of the output is handed to tf.nn.conv2d_transpose, with "batch" in it.
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
GRAPH = """<ir_version: 8, opset_import: ["": 17]> g (float[BATCH,1,4,4] x) => (float[BATCH,1,8,8] y)
<float[1,1,2,2] w = {1, 1, 1, 1}> { y = ConvTranspose<kernel_shape = [2, 2], strides = [2, 2]>(x, w) }"""


def result(batch):
    """What comes of the model with this batch."""
    model = onnx.parser.parse_model(GRAPH.replace("BATCH", batch))
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            onnx2tf.convert("m.onnx", output_folder_path="out", disable_model_save=True, non_verbose=True)
    except (Exception, SystemExit) as error:  # onnx2tf prints what is wrong and exits
        return f"{type(error).__name__} {' '.join(str(error).split())[:180]}"
    return "converted"


print("a batch of 1: expected converted, got", result("1"))
found = result("N")
print("a batch of N: expected converted, got", found)
sys.exit(int(found != "converted"))
