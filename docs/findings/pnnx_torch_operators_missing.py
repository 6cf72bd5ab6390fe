"""pnnx 20261020 (ncnn, not supported): comparisons, bitwise operators, Where, Cast and others get no layer.

Rule: ONNX's operator list, opsets 1 to 26: the operators of the table below.
pnnx turns them into PyTorch's (torch.lt, torch.where, Tensor.to, ...), which it has no rule to write for ncnn, and ncnn
has no such layers; what it computes of shapes stays an expression. It ends with 0. ncnn has a layer Tile, but only
Tensor.repeat and Tensor.expand become it.
Upstream: https://github.com/Tencent/ncnn/issues/5655 (torch.eq),
https://github.com/Tencent/ncnn/issues/6413 (torch.arange, pnnx.Expression)
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import warnings

import ncnn
import onnx
from onnx.backend.test.loader import load_model_tests

CASES = """
BitwiseAnd=bitwise_and_i32_2d BitwiseNot=bitwise_not_2d BitwiseOr=bitwise_or_i32_2d BitwiseXor=bitwise_xor_i32_2d
Cast=flexattention_fp16_expanded_ver26 Cast,Range=blackmanwindow_expanded
ConstantOfShape_of_ones=constantofshape_float_ones ConstantOfShape_of_zeros=constantofshape_int_zeros Equal=equal
Equal,Greater,Or=greater_equal_expanded Equal,Less,Or=less_equal_expanded Greater=greater GreaterOrEqual=greater_equal
Less=less Less,Where=clip_default_max_expanded LessOrEqual=less_equal Shape=shape_start_1_end_2 Tile=tile
Where=attention_3d_causal_expanded
"""
os.chdir(tempfile.mkdtemp())
warnings.simplefilter("ignore")  # of the values that onnx's own cases are made of
models = {case.name: case.model for case in load_model_tests(kind="node")}
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
refused = 0
for operator, case in (entry.split("=") for entry in CASES.split()):
    os.mkdir(case)
    onnx.save(models[f"test_{case}"], f"{case}/m.onnx")
    done = subprocess.run([pnnx, "m.onnx", "fp16=0"], cwd=case, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    assert done.returncode == 0, f"{operator}: pnnx ends with {done.returncode}"
    with open(f"{case}/m.ncnn.param", encoding="utf-8") as file:
        kinds = dict.fromkeys(line.split()[0] for line in file.read().splitlines()[2:])
    unknown = [kind for kind in kinds if ncnn.layer_to_index(kind) < 0]
    if unknown:
        refused += 1
        print(f"expected  {operator}: converted")
        print(f"got       {operator}: ncnn has no layer {', '.join(unknown)}", flush=True)
sys.exit(int(refused > 0))
