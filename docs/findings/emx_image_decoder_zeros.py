"""emx-onnx-cgen 1.4.0: ImageDecoder writes zeros for a JPEG 2000, TIFF or WebP, and the C says nothing of it.

Rule: ONNX ImageDecoder 20 names the three formats, and: "If it can't decode for any reason (e.g. corrupted encoded
stream, invalid format, it will return an empty matrix)". By default stb_image decodes, which has none of the three;
the libraries that have them are an option (image_decoder_libs). The images are those of onnx's own cases.
Upstream: none known.
Needs emx-onnx-cgen==1.4.0, onnx and numpy, and gcc. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import ctypes
import importlib
import os
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from emx_onnx_cgen.codegen import image_decoder_libs
from emx_onnx_cgen.compiler import Compiler, CompilerOptions
from onnx.backend.test import loader

warnings.simplefilter("ignore")  # some of onnx's cases divide by zero
importlib.import_module("emx_onnx_cgen.lowering").load_lowering_registry()
wrong = 0
for case in loader.load_model_tests(kind="node"):
    if case.name not in [f"test_image_decoder_decode_{name}_rgb" for name in ("jpeg2k", "tiff", "webp")]:
        continue
    source, _ = Compiler(CompilerOptions(model_name="model")).compile_with_weight_data(case.model)
    folder = tempfile.mkdtemp()
    image_decoder_libs.prepare_image_decoder_build(case.model, ("stb",), Path(folder))
    with open(os.path.join(folder, "m.c"), "w") as file:
        file.write(source)
    command = ["gcc", "-O2", "-std=c99", "-w", "-fPIC", "-shared", "m.c", "-o", "m.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    [data], [expected] = case.data_sets[0]
    got = np.full_like(expected, 7)
    ctypes.CDLL(os.path.join(folder, "m.so")).model(*(ctypes.c_void_p(x.ctypes.data) for x in (data, got)))
    wrong += not np.allclose(got, expected, atol=16)
    print("expected", case.name, expected[0, 0].tolist(), "in the first pixel, or an empty tensor")
    print("got     ", case.name, got[0, 0].tolist(), "and in all others" if not got.any() else "")
sys.exit(int(wrong > 0))
