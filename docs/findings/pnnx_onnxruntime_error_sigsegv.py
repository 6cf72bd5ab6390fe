"""pnnx 20261020 (ncnn): where its onnxruntime refuses a file, it goes on into a null pointer (SIGSEGV).

Rule: ONNX's operator list: Attention 23 to 25, ConvInteger 10 (one zero point per output channel is allowed).
pnnx runs every file with the onnxruntime 1.30.0 that it carries and does not look at the status. That onnxruntime knows
opset 25 without left_window_size, takes one zero point for all weights of ConvInteger, clashes with its own casts
around float16, adds float32 to bfloat16 in Attention, and refuses the 7 that pnnx makes up for nonpad_kv_seqlen (with
right lengths it would refuse the mask of that file: onnxruntime_attention_short_mask.py).
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
Attention_left_window_size=attention_local_window Attention_float16=attention_4d_fp16_expanded
Attention_bfloat16_mask=attention_4d_attn_mask_causal_bf16
Attention_nonpad_kv_seqlen=attention_4d_diff_heads_mask4d_padded_kv ConvInteger_zero_points=convinteger_with_padding
"""
os.chdir(tempfile.mkdtemp())
warnings.simplefilter("ignore")  # of the values that onnx's own cases are made of
models = {case.name: case.model for case in load_model_tests(kind="node")}
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
        print(f"expected  {operator}: an end with 0, or with a message")
        print(f"got       {operator}: pnnx ends with {done.returncode}: {said[:300]}", flush=True)
sys.exit(int(refused > 0))
