"""pnnx 20261020 (ncnn, not supported): parameters, pads, axes and sizes that are inputs get no layer.

Rule: ONNX's operator list, opsets 1 to 26: the operators of the table below take these as inputs, which need not be
constants.
pnnx's rules want constants (of GRU, LSTM and RNN also Y alone as the output); else the node is left behind, and pnnx
ends with 0. ncnn has no layer for it, or (Clip, GRU, LSTM, RNN) one with other inputs and parameters. For the
reductions 'all' stands for axes that are an empty tensor, 'none' for the same with noop_with_empty_axes=1.
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
BatchNormalization_parameters=batchnorm_epsilon Clip_bounds=clip GRU_weights=gru_defaults LSTM_weights=lstm_defaults
RNN_weights=simple_rnn_defaults ConvTranspose_kernel=convtranspose_3d Gather_table=rotary_embedding_3d_input_expanded
Gather_table,Slice_step=rotary_embedding_interleaved_expanded Gemm_weights=gemm_transposeB
GroupNormalization_scale=group_normalization_epsilon InstanceNormalization_scale=instancenorm_epsilon
LayerNormalization_scale=layer_normalization_2d_axis0 PRelu_slope=prelu_broadcast
PRelu_slope_of_three_dimensions=prelu_example Pad_pads=constant_pad
Pad_computed_pads=center_crop_pad_crop_and_pad_expanded RMSNormalization_scale=rms_normalization_2d_axis0
ReduceL1_all=reduce_l1_default_axes_keepdims_example ReduceL1_axes=reduce_l1_empty_set
ReduceL2_all=reduce_l2_default_axes_keepdims_example ReduceL2_axes=reduce_l2_empty_set
ReduceMean_all=reduce_mean_default_axes_keepdims_example ReduceMin_axes=reduce_min_empty_set
ReduceProd_axes=reduce_prod_empty_set ReduceSum_all=reduce_sum_default_axes_keepdims_example
ReduceSum_axes=reduce_sum_empty_set ReduceSum_none=reduce_sum_empty_axes_input_noop
ReduceSumSquare_all=reduce_sum_square_default_axes_keepdims_example ReduceSumSquare_axes=reduce_sum_square_empty_set
Resize_scales=resize_downsample_scales_nearest Resize_sizes=resize_downsample_sizes_nearest
Resize_roi=resize_tf_crop_and_resize_axes_2_3
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
    if unknown or ncnn.Net().load_param(f"{case}/m.ncnn.param") != 0:
        refused += 1
        said = f"ncnn has no layer {', '.join(unknown)}" if unknown else "ncnn cannot load the graph"
        print(f"expected  {operator}: converted")
        print(f"got       {operator}: {said}", flush=True)
sys.exit(int(refused > 0))
