"""IREE 3.13.0: clamping floats cannot be compiled for 32-bit Arm (armv7, hard float).

Rule: none of ONNX's; arith.maximumf is a legal operation of MLIR, and the target is one that IREE lists. LLVM lowers
the maximum to a call of fmaxf, which is not among the functions that IREE links into the embedded ELF ("iree-lld:
error: undefined symbol: fmaxf"). aarch64, riscv64 and x86-64 compile. Every QDQ graph has such a clamp, so w8a8 for
armhf fails.
Upstream: https://github.com/iree-org/iree/issues/14187 is the same symbol on x86-64 (closed).
Needs: pip install iree-base-compiler==3.13.0. Exits with 1 while the defect shows.
"""

import sys

from iree.compiler import tools

TEXT = """
func.func @main(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %0 = arith.maximumf %a, %b : tensor<64xf32>
  %1 = arith.maxnumf %0, %b : tensor<64xf32>
  return %1 : tensor<64xf32>
}
"""


def compiled(triple, cpu):
    flags = ["triple=" + triple, "cpu=" + cpu, "cpu-features=+neon", "float-abi=hard"]
    flags = ["--iree-llvmcpu-target-" + flag for flag in flags]
    try:
        return bool(tools.compile_str(TEXT, target_backends=["llvm-cpu"], extra_args=flags))
    except tools.CompilerToolError as error:
        return next((line for line in str(error).splitlines() if "error:" in line), "no message")


print("expected True and", compiled("aarch64-linux-gnu", "cortex-a53"), "for aarch64")
got = compiled("armv7l-linux-gnueabihf", "cortex-a7")
print("got     ", got, "for armv7")
sys.exit(0 if got is True else 1)
