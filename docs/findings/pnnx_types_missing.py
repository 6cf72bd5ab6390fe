"""pnnx 20261020 (ncnn, not supported): inputs of type bool, string, float8 and of four or two bits kill it (SIGSEGV).

Rule: ONNX IR specification, section Standard data types: bool, string, float8e4m3fn and the others below are element
types of tensors.
pnnx says 'unsupported tensor elem data type', gives its onnxruntime a file with the type 0 and goes on into a null
pointer. With inputshape=, which has no letters for these types, it ends with 255.
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

WORDS = re.compile(r"^unsupported tensor elem data type \d+")
CASES = """
bool=and2d string=ai_onnx_ml_label_encoder_string_int float4e2m1=castlike_FLOAT16_to_FLOAT4E2M1
float8e4m3fn=castlike_FLOAT16_to_FLOAT8E4M3FN float8e4m3fnuz=castlike_FLOAT16_to_FLOAT8E4M3FNUZ
float8e5m2=castlike_FLOAT16_to_FLOAT8E5M2 float8e5m2fnuz=castlike_FLOAT16_to_FLOAT8E5M2FNUZ
int2=castlike_FLOAT16_to_INT2 int4=castlike_FLOAT16_to_INT4 uint2=castlike_FLOAT16_to_UINT2
uint4=castlike_FLOAT16_to_UINT4
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
        print(f"expected  {operator}: converted")
        print(f"got       {operator}: pnnx ends with {done.returncode}: {said[:300]}", flush=True)
sys.exit(int(refused > 0))
