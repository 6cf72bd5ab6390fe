"""onnx2tf 1.29.24 converts these one-node files without an error or a warning, and the result computes something else.

ScatterND(reduction=max) ignores the reduction (ONNX ScatterND-18: "max: reduction using the maximum operation"); Clip whose
bounds are both inputs loses the lower one (ONNX Clip-13; onnx2tf_clip_bounds.py shows it without onnx's cases). The expected
values are onnx's own node cases, which ONNX Runtime 1.31.1 reproduces. Needs: onnx2tf==1.29.24, tensorflow-cpu==2.21.0,
onnx==1.23.2, onnxruntime==1.31.1.
"""

import os
import tempfile

import numpy as np
import onnx
import onnx2tf
import onnxruntime
from onnx.backend.test.case.node import collect_testcases

os.chdir(tempfile.mkdtemp())
for case in collect_testcases(None):
    if case.name not in ("test_scatternd_max", "test_clip_outbounds"):
        continue
    case.model.ir_version = 10
    path = case.name + ".onnx"
    onnx.save(case.model, path)
    given = [np.asarray(x) for x in case.data_sets[0][0]]
    names = [value.name for value in case.model.graph.input]
    truth = onnxruntime.InferenceSession(path).run(None, dict(zip(names, given)))[0]
    assert np.allclose(truth, case.data_sets[0][1][0])
    net = onnx2tf.convert(
        input_onnx_file_path=path, output_folder_path="out", non_verbose=True, not_use_onnxsim=True,
        disable_strict_mode=True, disable_model_save=True, keep_shape_absolutely_input_names=names,
    )
    found = net(given)
    print("RESULT", case.name, "max difference", np.abs(np.asarray(found) - truth).max())
