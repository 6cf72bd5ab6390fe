"""pnnx 20261020 (ncnn, not supported): some attributes, their defaults and second outputs get no layer.

Rule: ONNX's operator list, opsets 1 to 26: the attributes and outputs of the table below.
pnnx leaves the node as it is, or as an operator of PyTorch, and ends with 0; ncnn has no layer for either.
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
AveragePool_2d_dilations=averagepool_2d_dilations AveragePool_3d_dilations=averagepool_3d_dilations_small
BatchNormalization_training_mode=batchnorm_epsilon_training_mode Conv_SAME_LOWER=conv_with_autopad_same
ConvTranspose_auto_pad=convtranspose_autopad_same MaxPool_2d_dilations=maxpool_2d_dilations
MaxPool_3d_dilations=maxpool_3d_dilations MaxPool_indices=maxpool_with_argmax_2d_precomputed_pads
Resize_nearest_mode_ceil=resize_upsample_sizes_nearest_ceil_half_pixel
Resize_nearest_mode_round_prefer_ceil=resize_upsample_sizes_nearest_round_prefer_ceil_asymmetric Selu_alpha=selu
Slice_steps=rotary_embedding_no_position_ids_interleaved_expanded Transpose_without_perm=transpose_default
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
