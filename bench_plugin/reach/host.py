"""The host as far as it decides numbers: processor, C library, usable cores, and variables that change numerics."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bench_plugin.domain.recipes import recipe

# Names of environment variables, or beginnings of names that end in "*", and why the result of a stage depends on them.
NUMERIC_VARIABLES: Mapping[str, str] = {
    "OMP_*": "OpenMP: the number of threads and how loops are divided decide the order of sums",
    "GOMP_*": "GCC's OpenMP: the processors that its threads are bound to",
    "KMP_*": "LLVM's and Intel's OpenMP: the same, and deterministic reductions",
    "MKL_*": "Intel MKL: threads, the instruction set, conditional numerical reproducibility",
    "OPENBLAS_*": "OpenBLAS: threads, the kernels of which processor (OPENBLAS_CORETYPE)",
    "GOTO_NUM_THREADS": "OpenBLAS: threads, under its old name",
    "BLIS_*": "BLIS: threads and kernels",
    "VECLIB_*": "Apple Accelerate: threads",
    "NUMEXPR_*": "numexpr: threads",
    "NPY_*": "NumPy: disabled instruction sets (NPY_DISABLE_CPU_FEATURES), promotion of types",
    "ONEDNN_*": "oneDNN: the highest instruction set, the default precision of arithmetic",
    "DNNL_*": "oneDNN under its old name",
    "TF_*": "TensorFlow: oneDNN kernels, determinism, XLA, threads",
    "XLA_*": "XLA: its flags",
    "JAX_*": "JAX: precision of matrix products, x64",
    "ORT_*": "ONNX Runtime: its switches",
    "MLAS_*": "ONNX Runtime's kernels",
    "TORCH*": "PyTorch: the compiler's caches and options, determinism",
    "PYTORCH_*": "PyTorch: allocation and fallbacks",
    "ATEN_*": "PyTorch: the instruction set of its kernels (ATEN_CPU_CAPABILITY)",
    "MXNET_*": "MXNet: fusion, engine, kernels",
    "TVM_*": "TVM: threads, where its libraries are",
    "IREE_*": "IREE: flags of its compiler and runtime",
    "OV_*": "OpenVINO: switches of its plugins",
    "OPENVINO_*": "OpenVINO: the same",
    "NCNN_*": "ncnn: threads and switches",
    "CUDA_VISIBLE_DEVICES": "which devices a framework sees, and so where it computes",
    "NVIDIA_TF32_OVERRIDE": "NVIDIA's libraries: products with fewer bits",
    "GLIBC_TUNABLES": "the C library: which instruction sets its functions may use",
    "LD_LIBRARY_PATH": "the dynamic linker: which libraries are loaded",
    "LD_PRELOAD": "the dynamic linker: libraries that replace others",
    "CC": "the C compiler of those who ask for it",
    "CXX": "the C++ compiler of those who ask for it, such as torch.compile",
    "CFLAGS": "flags of the C compiler",
    "CXXFLAGS": "flags of the C++ compiler",
    "CPPFLAGS": "flags of the preprocessor",
    "LDFLAGS": "flags of the linker",
    "CPATH": "GCC and Clang: folders of headers",
    "C_INCLUDE_PATH": "GCC and Clang: folders of headers for C",
    "CPLUS_INCLUDE_PATH": "GCC and Clang: folders of headers for C++",
    "LIBRARY_PATH": "GCC and Clang: folders of libraries to link",
    "GCC_EXEC_PREFIX": "GCC: where its own programs are",
    "COMPILER_PATH": "GCC: where its own programs are",
    "PYTHONHASHSEED": "the order of sets in Python programs that a tool starts",
}
_NAMES = frozenset(name for name in NUMERIC_VARIABLES if not name.endswith("*"))
_BEGINNINGS = tuple(name[:-1] for name in NUMERIC_VARIABLES if name.endswith("*"))
# Lines of /proc/cpuinfo (proc(5)): x86 writes "flags", Arm "Features", RISC-V "isa".
_EXTENSIONS = ("flags", "features", "isa")
# Libraries such as OpenBLAS and LLVM choose kernels and tuning by the model of the processor, not by its flags alone.
_MODEL = ("vendor_id", "cpu family", "model", "stepping", "cpu implementer", "cpu variant", "cpu part", "uarch")


def numeric_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that change what frameworks and compilers compute, sorted by name."""
    return {name: environment[name] for name in sorted(environment) if name in _NAMES or name.startswith(_BEGINNINGS)}


def host_facts(environment: Mapping[str, str]) -> dict[str, Any]:
    """What results depend on besides tools and inputs, as plain data.

    ``architecture``, ``processor`` (its model, in the numbers of /proc/cpuinfo), ``isa`` (its extensions, sorted),
    ``libc``, ``cores`` (how many this process may use: the number of threads where nothing sets it), ``variables``
    (those of ``environment`` in NUMERIC_VARIABLES), and ``digest``, a name of all these, 12 hexadecimal digits.
    """
    facts = {**_fixed_facts(), "cores": len(os.sched_getaffinity(0)), "variables": numeric_variables(environment)}
    return {**facts, "digest": recipe(stage="host", **facts)[:12]}


@functools.cache
def _fixed_facts() -> Mapping[str, Any]:
    processor = _first_processor()
    return {
        "architecture": platform.machine(),
        "processor": " ".join(processor[key] for key in _MODEL if key in processor),
        "isa": sorted({word for key in _EXTENSIONS for word in processor.get(key, "").split()}),
        "libc": " ".join(platform.libc_ver()),
    }


def _first_processor() -> dict[str, str]:
    """The lines of the first processor in /proc/cpuinfo; empty where there is no such file."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return {}
    rows = (line.partition(":") for line in text.strip().partition("\n\n")[0].splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in rows}
