"""IREE 3.13.0 (iree-base-compiler): clamping floats cannot be compiled for 32-bit Arm (armv7, hard float): LLVM lowers
the maximum to a call of fmaxf, which the embedded ELF, linked without a C library, does not have: "iree-lld: error:
undefined symbol: fmaxf". aarch64, riscv64 and x86-64 compile the same. Every QDQ graph has such a clamp, so w8a8 for armhf
fails. Stage compile, symptom exception. Run: python iree_armhf_fmaxf.py
"""
from iree.compiler.api import Session, Source

TEXT = b"""
func.func @main(%a: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<64xf32> {
  %0 = arith.maximumf %a, %b : tensor<64xf32>
  %1 = arith.maxnumf %0, %b : tensor<64xf32>
  return %1 : tensor<64xf32>
}
"""
for triple, cpu in (("aarch64-linux-gnu", "cortex-a53"), ("armv7l-linux-gnueabihf", "cortex-a7")):
    session = Session()
    session.set_flags("--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-triple=" + triple,
                      "--iree-llvmcpu-target-cpu=" + cpu, "--iree-llvmcpu-target-cpu-features=+neon",
                      "--iree-llvmcpu-target-float-abi=hard")
    invocation = session.invocation()
    invocation.parse_source(Source.wrap_buffer(session, TEXT))
    print(triple, invocation.execute())
