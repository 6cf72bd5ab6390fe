"""ncnn 1.0.20261020: a tensor without elements in front of a layer kills the process (SIGSEGV).

Rule: a dimension may be 0, as in ONNX's own case test_reduce_sum_empty_set; Acos 22 of such a tensor has no elements.
The Mat of numpy's array of the shape (0, 3) has no memory of its own. Before a layer that may work in place, Noop too,
the net reads how often that memory is referred to; without lightmode it does not, and extract returns -100 (Gemm and
Squeeze: always). Mat.clone() of it gives a Mat without dimensions, as if there were no input: other layers divide by
its size then (SIGFPE).
Upstream: none known.
Needs ncnn==1.0.20261020 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import subprocess
import sys
import tempfile

RUN = """
import ncnn, numpy as np
net = ncnn.Net()
assert net.load_param("m.param") == 0 and net.load_model("m.bin") == 0
extractor = net.create_extractor()
x = np.zeros((0, 3), np.float32)
extractor.input("x", ncnn.Mat(x))
status, found = extractor.extract("y")
print(np.array(found).size if status == 0 else f"status {status}")
"""

os.chdir(tempfile.mkdtemp())
with open("m.param", "w") as file:
    file.write("7767517\n2 2\nInput in 0 1 x\nUnaryOp acos 1 1 x y 0=13\n")
open("m.bin", "wb").close()
done = subprocess.run([sys.executable, "-c", RUN], capture_output=True, text=True)
got = done.stdout.strip() if done.returncode == 0 else f"the process ends with {done.returncode}"
print("expected 0 elements")
print("got     ", got, "elements" if done.returncode == 0 else "")
sys.exit(int(got != "0"))
