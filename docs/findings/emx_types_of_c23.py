"""emx-onnx-cgen 1.4.0 (not supported): the C of integers of 2 and 4 bits and of bfloat16 is not for gcc 12.

Rule: ONNX Cast 25 and CastLike 25 have int2, uint2, int4, uint4 and bfloat16. emx documents that it writes _BitInt for
the integers; bfloat16 becomes __bf16, which gcc has on x86 from version 13 on. gcc 12 refuses both.
Upstream: none known.
Needs emx-onnx-cgen==1.4.0, onnx and numpy, and gcc. Ends with 1 while gcc refuses the C, with 0 when it takes it (gcc
14).
"""

import importlib
import os
import subprocess
import sys
import tempfile
import warnings

from emx_onnx_cgen.compiler import Compiler, CompilerOptions
from onnx.backend.test import loader

CASES = {
    "int2": "test_castlike_FLOAT_to_INT2",
    "uint2": "test_castlike_FLOAT_to_UINT2",
    "int4": "test_castlike_FLOAT_to_INT4",
    "uint4": "test_castlike_FLOAT_to_UINT4",
    "bfloat16": "test_castlike_FLOAT_to_BFLOAT16",
    "bfloat16, Attention": "test_attention_4d_causal_bf16",
}

warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
models = {case.name: case.model for case in loader.load_model_tests(kind="node")}
importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
os.chdir(tempfile.mkdtemp())
refused = 0
for what, name in CASES.items():
    source, _ = Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(models[name])
    with open("m.c", "w") as file:
        file.write(source)
    done = subprocess.run(["gcc", "-std=c2x", "-w", "-c", "m.c"], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        refused += 1
        print(f"expected  {what}: compiled")
        print(f"got       {what}:", next(line for line in done.stderr.splitlines() if "error" in line))
sys.exit(int(refused > 0))
