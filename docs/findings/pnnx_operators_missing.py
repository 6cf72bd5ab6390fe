"""pnnx 20261020 (ncnn, not supported): 38 operators have no conversion, and ncnn cannot load the graph.

Rule: ONNX's operator list, opsets 1 to 26: the operators of the table below.
pnnx passes them on by name and ends with 0, and ncnn has no layer of these names (it knows the name ArgMax, but is
built without it). Beside a ReduceMax of the same axis ArgMax becomes a Reduction with two outputs, which ncnn does not
load either. Sequences are in pnnx_sequences.py.
Upstream: https://github.com/Tencent/ncnn/issues/5091 (operators to convert);
https://github.com/Tencent/ncnn/issues/2154 and https://github.com/Tencent/ncnn/issues/2582 (ArgMax)
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
ArgMax=argmax_default_axis_example ArgMin=argmin_default_axis_example Attention=attention_3d
BitCast=bitcast_2d_float32_to_int32 BlackmanWindow=blackmanwindow CastLike=castlike_DOUBLE_to_FLOAT
CastLike,ReduceSum=reduce_l2_default_axes_keepdims_example_expanded CastLike,ReduceSum_13=reduce_l2_empty_set_expanded
CenterCropPad=center_crop_pad_crop ConvInteger=convinteger_without_padding CumProd=cumprod_1d CumSum=cumsum_1d DFT=dft
DeformConv=basic_deform_conv_with_padding Det=det_2d DynamicQuantizeLinear=dynamicquantizelinear
EyeLike=eyelike_without_dtype HammingWindow=hammingwindow HannWindow=hannwindow Hardmax=hardmax_axis_0 IsInf=isinf
IsNaN=isnan LpNormalization=l1normalization_axis_0 LpPool=lppool_1d_default MatMulInteger=matmulinteger
MaxUnpool=maxunpool_export_without_output_shape Mean=mean_example MeanVarianceNormalization=mvn
NonMaxSuppression=nonmaxsuppression_identical_boxes QLinearConv=qlinearconv QLinearMatMul=qlinearmatmul_2D_int8_float32
QuantizeLinear,Cast=dynamicquantizelinear_expanded RotaryEmbedding=rotary_embedding Scan=scan9_sum Size=size
Softsign=softsign TensorScatter=tensorscatter_circular TfIdfVectorizer=tfidfvectorizer_tf_only_bigrams_skip0
ThresholdedRelu=thresholdedrelu Trilu=tril
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
