"""pnnx 20261020 (ncnn, not supported): ReduceMax and three others whose axes are an input stay as they are.

Rule: ONNX ReduceMax 18: axes is an 'optional input list of integers, along which to reduce'; before, an attribute.
So with ReduceMin, ReduceLogSum and ReduceSumSquare. ncnn has no layers of these names, and does not load the graph. With
one axis as an attribute ReduceMax is converted.
Upstream: none known.
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile

import ncnn
import onnx

os.chdir(tempfile.mkdtemp())
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
failed = 0
for operator in "ReduceMax", "ReduceMin", "ReduceLogSum", "ReduceSumSquare":
    text = f"""<ir_version: 8, opset_import: ["": 18]>
    g (float[1,2,3] x) => (float[1,2,1] y) <int64[1] axes = {{2}}> {{ y = {operator}(x, axes) }}"""
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, "m.onnx")
    subprocess.run([pnnx, "m.onnx", "fp16=0"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    loaded = ncnn.Net().load_param("m.ncnn.param") == 0
    layers = [line.split()[0] for line in pathlib.Path("m.ncnn.param").read_text().splitlines()[2:]]
    print(operator, "expected a graph that ncnn loads")
    print(operator, "got      layers:", *layers, "" if loaded else "(not loaded)")
    failed |= not loaded
sys.exit(int(failed))
