"""OpenVINO 2026.4.1 (not supported): the ONNX frontend has no conversion rule for 29 operators.

Rule: ONNX's operator list, opsets 1 to 28, ai.onnx.ml 1 to 5, ai.onnx.preview and ai.onnx.preview.training 1.
Each operator is the smallest of onnx's own cases that has it, read from a file.
Needs openvino==2026.4.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile
import warnings

import onnx
import openvino as ov
from onnx.backend.test import loader

CASES = [
    "adagrad", "adam", "ai_onnx_ml_array_feature_extractor", "ai_onnx_ml_binarizer",
    "ai_onnx_ml_label_encoder_string_int", "ai_onnx_ml_tree_ensemble_single_tree", "basic_deform_conv_with_padding",
    "bernoulli", "bitcast_bool_to_uint8", "causal_conv_with_state_basic", "cumprod_1d", "det_2d", "flexattention",
    "image_decoder_decode_bmp_rgb", "linear_attention_decode_step", "maxunpool_export_with_output_shape",
    "melweightmatrix", "momentum", "optional_get_element_optional_sequence", "optional_get_element_tensor",
    "optional_has_element_empty_no_input_name_tensor_input", "optional_has_element_empty_optional_input",
    "regex_full_match_basic", "sequence_map_add_2_sequences", "string_concat", "string_split_basic",
    "strnormalizer_export_monday_casesensintive_lower", "swiglu", "tensorscatter",
    "tfidfvectorizer_tf_batch_onlybigrams_skip0",
]  # fmt: skip
warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
models = {case.name: case.model for case in loader.load_model_tests(kind="node")}
simple = os.path.join(os.path.dirname(onnx.__file__), "backend/test/data/simple")
models["test_gradient_of_add"] = onnx.load(os.path.join(simple, "test_gradient_of_add", "model.onnx"))
core = ov.Core()
path = os.path.join(tempfile.mkdtemp(), "m.onnx")
refused = 0
for name in [*CASES, "gradient_of_add"]:
    model = models["test_" + name]
    operator = next(node.op_type for node in model.graph.node if node.op_type != "Add")
    onnx.save(model, path)
    try:
        core.read_model(path)
    except RuntimeError as error:
        refused += 1
        said = str(error).split("Summary:")[-1].strip().splitlines()[0]
        print(f"expected  {operator}: converted")
        print(f"got       {operator}: {said}")
sys.exit(int(refused > 0))
