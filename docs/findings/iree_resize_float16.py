"""IREE 3.13.0: a linear Resize of float16 is not compiled: it is multiplied by numbers of float32.

Rule: ONNX Resize 13, type constraint T1, 'Constrain input 'X' and output 'Y' to all tensor types.', float16 among them.
The same file with float32 in place of float16 is compiled, and so is a Resize of float16 to the nearest element.
Upstream: none known.
Needs iree-base-compiler==3.13.0 and onnx. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import onnx

TEXT = """<ir_version: 8, opset_import: ["": 17]>
g (float16[1,1,2,2] x) => (float16[1,1,4,4] y) <int64[4] sizes = {1,1,4,4}> { y = Resize<mode="linear">(x, , , sizes) }"""
COMPILE = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu", "-o", "m.vmfb"]

os.chdir(tempfile.mkdtemp())
for kind, text in {"float32": TEXT.replace("float16", "float"), "float16": TEXT}.items():
    onnx.save(onnx.parser.parse_model(text), "m.onnx")
    subprocess.run([sys.executable, "-m", "iree.compiler.tools.import_onnx", "m.onnx", "-o", "m.mlir"], check=True)
    program = Path(sys.executable).with_name("iree-compile")
    done = subprocess.run([program, "m.mlir", *COMPILE], capture_output=True, text=True)
    said = [line.partition("error: ")[2] for line in done.stderr.splitlines() if "error: " in line]
    print(f"{kind}: expected it is compiled, got", said[0] if done.returncode else "it is compiled")
sys.exit(int(done.returncode != 0))
