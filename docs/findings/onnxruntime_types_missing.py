"""onnxruntime 1.31.1 (not supported): kernels of the CPU provider lack element types that ONNX's operators have.

Rule: the type constraints of ONNX's Cast 25 (float4e2m1), Max 13 and Min 13 (int16, uint16), Pow 15 (uint32, uint64 as
exponents), BitCast 26 (bool), TopK 24 (uint64), and of Expand 13, Add 14, Mul 14 and Pad 24 (bfloat16).
Each is one of onnx's own cases; those of Attention have the four last operators in their function body.
Upstream: https://github.com/microsoft/onnxruntime/issues/15845 (open) is about Min of int16 and uint16.
Needs onnxruntime==1.31.1, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys
import warnings

import onnxruntime
from onnx.backend.test import loader

CASES = {
    "CastLike from float4e2m1 to float32": "test_castlike_FLOAT4E2M1_to_FLOAT",
    "CastLike from float32 to float4e2m1": "test_castlike_FLOAT_to_FLOAT4E2M1",
    "CastLike from float16 to float4e2m1": "test_castlike_FLOAT16_to_FLOAT4E2M1",
    "Max of int16": "test_max_int16",
    "Max of uint16": "test_max_uint16",
    "Min of int16": "test_min_int16",
    "Min of uint16": "test_min_uint16",
    "Pow of float32 and uint32": "test_pow_types_float32_uint32",
    "Pow of float32 and uint64": "test_pow_types_float32_uint64",
    "BitCast of bool": "test_bitcast_bool_to_uint8",
    "TopK of uint64": "test_top_k_uint64",
    "Attention of bfloat16, Expand": "test_attention_4d_causal_bf16",
    "Attention of bfloat16, Mul": "test_attention_4d_causal_bf16_expanded",
    "Attention of bfloat16, Add": "test_attention_4d_attn_mask_causal_bf16_expanded",
    "Attention of bfloat16, Pad": "test_attention_4d_padded_kv_bf16_expanded",
}

onnxruntime.set_default_logger_severity(4)
warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
models = {case.name: case.model for case in loader.load_model_tests(kind="node")}
refused = 0
for what, name in CASES.items():
    try:
        onnxruntime.InferenceSession(models[name].SerializeToString(), providers=["CPUExecutionProvider"])
    except Exception as error:  # a class of the extension module
        refused += 1
        print(f"expected  {what}: a session")
        print(f"got       {what}:", str(error).splitlines()[0][:140])
sys.exit(int(refused > 0))
