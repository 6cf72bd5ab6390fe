"""ncnn 1.0.20261020 (x86): with bf16 storage a grouped convolution that is not depthwise reads wrong weights.

Rule: ConvolutionDepthWise with group=2 is two convolutions; bf16 storage rounds values to 8 bits and changes no more.
Every weight is 0.5, and 0.5 is a bfloat16: each output is the sum of two inputs of 1 times 0.5. In float32 it is 1; with
bf16 storage it is 0.5, 1.5, or a number without meaning, that differs between runs. One group per channel is right.
Upstream: none known.
Needs ncnn==1.0.20261020 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import os
import sys
import tempfile

import ncnn
import numpy as np

os.chdir(tempfile.mkdtemp())


def run(groups, bf16):
    """What ncnn gives for a convolution [4, 5, 5] -> [4, 5, 5] with 1x1 kernels of 0.5: one number per channel."""
    weights = np.full(4 * 4 // groups, 0.5, np.float32)
    with open("m.param", "w") as file:
        layer = f"ConvolutionDepthWise c 1 1 in0 out0 0=4 1=1 5=0 6={weights.size} 7={groups}"
        file.write(f"7767517\n2 2\nInput in0 0 1 in0\n{layer}\n")
    with open("m.bin", "wb") as file:
        file.write(bytes(4) + weights.tobytes())  # four bytes of 0: the weights are float32
    net = ncnn.Net()
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = bf16
    assert net.load_param("m.param") == 0 and net.load_model("m.bin") == 0
    extractor = net.create_extractor()
    extractor.input("in0", ncnn.Mat(np.ones((4, 5, 5), np.float32)).clone())
    return np.array(extractor.extract("out0")[1])[:, 0, 0]


assert np.allclose(run(2, bf16=False), 1) and np.allclose(run(4, bf16=True), 0.5, rtol=0.01)
y = run(2, bf16=True)
print("expected", [1.0] * 4)
print("got     ", y.tolist())
sys.exit(int(not np.allclose(y, 1, rtol=0.01)))
