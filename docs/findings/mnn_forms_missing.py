"""MNN 3.6.1: the converter refuses some forms of operators that it has. (not supported)

Rule: ONNX Einsum 12 (no arrow: the output follows from the equation), GRU 14 (the bias B is an input, constant or not),
LSTM 14 (the eighth input P, the peepholes), LpPool 18 (any number of spatial axes), Pad 19 (the mode wrap).
Needs mnn==3.6.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import helper as h

os.chdir(tempfile.mkdtemp())

# The converter itself: the command mnnconvert installs packages when it starts (mnn_pip.py).
CONVERT = "from _tools import mnnconvert as c; c('c -f ONNX --modelFile m.onnx --MNNModel m.mnn --bizCode b'.split())"
# what, attributes, inputs by name ("" where one is left out), shape of the output
GRU = {"x": (2, 1, 1), "w": (1, 3, 1), "r": (1, 3, 1), "b": (1, 6)}
LSTM = {"x": (2, 1, 1), "w": (1, 4, 1), "r": (1, 4, 1), "b": (1, 8), "": (), " ": (), "  ": (), "p": (1, 3)}
TABLE = [
    ("Einsum without an arrow", {"equation": "i,i"}, {"a": (2,), "b": (2,)}, ()),
    ("GRU with its bias as an input", {"hidden_size": 1}, GRU, (2, 1, 1, 1)),
    ("LSTM with peepholes", {"hidden_size": 1}, LSTM, (2, 1, 1, 1)),
    ("LpPool in three dimensions", {"kernel_shape": [1, 1, 1]}, {"x": (1, 1, 1, 1, 2)}, (1, 1, 1, 1, 2)),
    ("Pad in mode wrap", {"mode": "wrap"}, {"x": (2,), "pads": (2,)}, (4,)),
]
wrong = 0
for what, attributes, inputs, shape in TABLE:
    ports = [h.make_tensor_value_info(k, 1, v) for k, v in inputs.items() if k.strip() and k != "pads"]
    node = h.make_node(what.split()[0], [name.strip() for name in inputs], ["y"], **attributes)
    constants = [onnx.numpy_helper.from_array(np.array([1, 1], np.int64), "pads")] if "pads" in inputs else []
    graph = h.make_graph([node], "g", ports, [h.make_tensor_value_info("y", 1, shape)], constants)
    model = h.make_model(graph, opset_imports=[h.make_opsetid("", 19)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    said = subprocess.run([sys.executable, "-c", CONVERT], capture_output=True, text=True).stdout
    refusal = re.search("These Op Not Support.*|Can't (solve|convert).*", said)
    if refusal or not os.path.exists("m.mnn"):
        wrong = 1
        print(f"expected {what}: converted")
        print(f"got      {what}: {refusal[0] if refusal else 'no file'}")
    else:
        os.remove("m.mnn")
sys.exit(wrong)
