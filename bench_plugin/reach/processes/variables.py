"""The environment variables that agents get: those of a table, and those that a user or an adapter names.

An agent runs foreign code, and what it prints stands in logs and rows. So it gets no variable just because pytest has
it, and never one that looks like a secret, unless that is named in full.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import NamedTuple

# Names, or patterns in which * stands for any characters, by the reason why agents need them.
TABLE: Mapping[str, tuple[str, ...]] = {
    "programs and shared libraries are found by them": (
        "PATH", "LD_LIBRARY_PATH", "LD_PRELOAD", "CONDA_PREFIX", "JAVA_HOME",
    ),
    "the user, for caches and configuration in the home folder": ("HOME", "USER", "LOGNAME", "XDG_*"),
    "language, character set and time zone": ("LANG", "LANGUAGE", "LC_*", "TZ"),
    "temporary files; the agent's own folder replaces it": ("TMPDIR",),
    "accelerators": (
        "CUDA*", "NVIDIA_*", "NCCL_*", "CUBLAS_*", "CUDNN_*", "ROCM_*", "ROCR_*", "HIP_*", "HSA_*", "ZE_*", "SYCL_*",
        "ONEAPI_*", "OCL_*", "VK_*",
    ),
    "threads of numeric libraries": (
        "OMP_*", "GOMP_*", "KMP_*", "MKL_*", "OPENBLAS_*", "GOTO_*", "BLIS_*", "VECLIB_*", "NUMEXPR_*", "TBB_*",
        "TOKENIZERS_PARALLELISM",
    ),
    "numeric libraries, compilers and runtimes": (
        "TF_*", "XLA_*", "JAX_*", "KERAS_*", "TORCH*", "PYTORCH_*", "ATEN_*", "MXNET_*", "DMLC_*", "NPY_*", "ORT_*",
        "ONNX_*", "TVM_*", "IREE_*", "OV_*", "OPENVINO_*", "ONEDNN_*", "DNNL_*", "NCNN_*", "MNN_*", "XNNPACK_*",
        "QEMU_*", "LLVM_*", "MLIR_*",
    ),
    "memory allocation": ("MALLOC_*", "GLIBC_TUNABLES", "TCMALLOC_*", "JEMALLOC_*"),
    "compilers of the system, which adapters and frameworks call": (
        "CC", "CXX", "CPP", "LD", "AR", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "CPATH", "C_INCLUDE_PATH",
        "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "PKG_CONFIG_PATH", "CMAKE_*", "CCACHE_*",
    ),
    "licences of commercial compilers: the address of a server or a file": ("*_LICENSE_FILE",),
    "folders of downloaded models and data sets": ("HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "HF_DATASETS_CACHE"),
    "the way to the network": (
        "http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY",
        "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
    ),
}  # fmt: skip
ALLOWED = frozenset(name for names in TABLE.values() for name in names)
PATTERNS = tuple(sorted(name for name in ALLOWED if "*" in name))
# Terraform's variables begin as TensorFlow's do; the values of TF_VAR_* are its user's own.
# https://developer.hashicorp.com/terraform/cli/config/environment-variables
NOT_MEANT = (
    "TF_VAR_*", "TF_CLI_*", "TF_CLOUD_*", "TF_LOG*", "TF_PLUGIN_CACHE_*", "TF_REGISTRY_*", "TF_STATE_*", "TF_DATA_DIR",
    "TF_IGNORE", "TF_INPUT", "TF_IN_AUTOMATION", "TF_WORKSPACE",
)  # fmt: skip
SECRET = re.compile("TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|KEY", re.IGNORECASE)
WITH_PASSWORD = re.compile(r"://[^/@\s]+@")
LONGEST = 131072  # bytes of "NAME=value" and a null byte that execve(2) takes (Linux: MAX_ARG_STRLEN)


class Kept(NamedTuple):
    """The variables for an agent, and remarks for a person on those that were left out against expectation."""

    variables: dict[str, str]
    remarks: tuple[str, ...]


def for_agents(variables: Mapping[str, str], named: Iterable[str] = ()) -> Kept:
    """Those of ``variables`` that an agent gets; ``named`` are further names or patterns, of the user and of adapters.

    A variable that looks like a secret, by its name or by a password in an address, has to be named in full there.
    """
    own = frozenset(named)
    kept: dict[str, str] = {}
    remarks = []
    for name in list(variables):  # the environment of this process changes meanwhile: pytest names the test there
        value = variables.get(name)
        if value is None or not _wanted(name, own):
            continue
        size = len(os.fsencode(name)) + len(os.fsencode(value)) + 2
        if size > LONGEST:
            remarks.append(f"variable {name} is left out: {size} bytes, a program can be given {LONGEST}")
        elif name not in own and WITH_PASSWORD.search(value):
            remarks.append(
                f"variable {name} is left out: it holds an address with a user or a password; name it in full under "
                "`environment` in the configuration if agents need it"
            )
        else:
            kept[name] = value
    return Kept(kept, tuple(remarks))


def _wanted(name: str, own: frozenset[str]) -> bool:
    if name in own or name in ALLOWED:
        return True
    meant = matches(name, own) or (matches(name, PATTERNS) and not matches(name, NOT_MEANT))
    return meant and not SECRET.search(name)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of the names, or like one of the patterns, in which * stands for any characters."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
