"""OpenVINO 2026.4.1 (not supported): modes of Resize and Pad, and three axes of GridSample and Col2Im.

Rule: ONNX Resize 19, coordinate_transformation_mode: tf_crop_and_resize and half_pixel_symmetric; Pad 19, mode: wrap;
GridSample 20: "(N, C, D1_in, D2_in, ..., Dr_in)"; Col2Im 18: image_shape has one number for each axis.
Each is one of onnx's own cases; GridSample and Col2Im have three axes there.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys
import warnings

import openvino as ov
from onnx.backend.test import loader

CASES = {
    "Resize, tf_crop_and_resize": "test_resize_tf_crop_and_resize",
    "Resize, half_pixel_symmetric": "test_resize_upsample_scales_linear_half_pixel_symmetric",
    "Pad, wrap": "test_wrap_pad",
    "GridSample, three axes": "test_gridsample_volumetric_bilinear_align_corners_0",
    "Col2Im, three axes": "test_col2im_5d",
}

warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
models = {case.name: case.model for case in loader.load_model_tests(kind="node")}
core = ov.Core()
refused = 0
for what, name in CASES.items():
    try:
        core.read_model(models[name].SerializeToString())
    except RuntimeError as error:
        refused += 1
        said = str(error).split("Failed operations detailed log:")[-1]
        print(f"expected  {what}: converted")
        print(f"got       {what}:", " ".join(said.split())[:250])
sys.exit(int(refused > 0))
