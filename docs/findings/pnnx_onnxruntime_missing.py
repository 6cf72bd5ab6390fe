"""pnnx 20261020 (ncnn, not supported): operators that its own onnxruntime lacks end in SIGSEGV.

Rule: ONNX's operator list, opsets 1 to 26, ai.onnx.ml 1 to 5, ai.onnx.preview and ai.onnx.preview.training: the
operators and types below.
pnnx runs every file with the onnxruntime 1.30.0 that it carries, which does not know these operators or has no kernel
for them (opset, type or layout); pnnx does not look at the status and goes on into a null pointer.
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import warnings

import onnx
from onnx.backend.test.loader import load_model_tests

WORDS = re.compile(r"^ort ")
CASES = """
Adagrad=adagrad Adam=adam Add_bfloat16=attention_4d_attn_mask_causal_bf16_expanded
ArrayFeatureExtractor=ai_onnx_ml_array_feature_extractor Bernoulli=bernoulli Binarizer=ai_onnx_ml_binarizer
Expand_bfloat16=attention_3d_causal_bf16 FlexAttention=flexattention GRU_layout=gru_batchwise Gradient=gradient_of_add
ImageDecoder=image_decoder_decode_bmp_rgb LSTM_layout=lstm_batchwise Max_int16=max_int16 Min_int16=min_int16
Momentum=momentum Pad_bfloat16=attention_4d_padded_kv_bf16_expanded Pow_uint32=pow_types_float32_uint32
RNN_layout=simple_rnn_batchwise RoiAlign=roialign_aligned_false TopK_uint64=top_k_uint64
TreeEnsemble=ai_onnx_ml_tree_ensemble_single_tree Where_int8=clip_default_int8_max_expanded
"""
os.chdir(tempfile.mkdtemp())
warnings.simplefilter("ignore")  # of the values that onnx's own cases are made of
models = {
    case.name: case.model or onnx.load(f"{case.model_dir}/model.onnx")
    for kind in ("node", "simple")
    for case in load_model_tests(kind=kind)
}
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
refused = 0
for operator, case in (entry.split("=") for entry in CASES.split()):
    os.mkdir(case)
    onnx.save(models[f"test_{case}"], f"{case}/m.onnx")
    done = subprocess.run(
        [pnnx, "m.onnx", "fp16=0"],
        cwd=case,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        refused += 1
        said = next((line for line in done.stdout.splitlines() if WORDS.search(line)), "it says nothing")
        print(f"expected  {operator}: converted")
        print(f"got       {operator}: pnnx ends with {done.returncode}: {said[:300]}", flush=True)
sys.exit(int(refused > 0))
