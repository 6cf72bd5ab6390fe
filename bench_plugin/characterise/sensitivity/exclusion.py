"""Lists of the layers that a quantiser leaves alone, in the forms of onnxruntime, NNCF and TensorRT."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from bench_plugin.characterise.sensitivity.findings import Layer

FORMS = ("onnxruntime", "nncf", "tensorrt")
# onnxruntime's preparation makes a Gemm of a product and the sum behind it, and names it like this.
FUSED = "/MatMulAddFusion"
# OpenVINO gives the name of a convolution with a bias to the sum, and another one to the convolution itself.
APART = "(/WithoutBiases)?"


class CannotExclude(ValueError):
    """A layer that the form cannot name."""


def nodes_to_exclude(layers: Sequence[Layer]) -> dict[str, list[str]]:
    """The argument of onnxruntime's ``quantize_static`` and ``quantize_dynamic``; also after ``quant_pre_process``.

    >>> nodes_to_exclude([Layer("/fc/MatMul", True, "MatMul", 6, 3)])
    {'nodes_to_exclude': ['/fc/MatMul', '/fc/MatMul/MatMulAddFusion']}
    """
    names = []
    for layer in layers:
        names.append(layer.name)
        if layer.operator == "MatMul":
            names.append(layer.name + FUSED)
    return {"nodes_to_exclude": names}


def ignored_scope(layers: Sequence[Layer]) -> dict[str, list[str]]:
    """The arguments of ``nncf.IgnoredScope``: expressions that find a layer in ONNX's and in OpenVINO's graphs.

    >>> ignored_scope([Layer("/0/Conv", True, "Conv", 144, 64)])
    {'patterns': ['^/0/Conv(/WithoutBiases)?$']}
    """
    return {"patterns": [f"^{re.escape(layer.name)}{APART}$" for layer in layers]}


def layer_precisions(layers: Sequence[Layer]) -> list[str]:
    """The options of TensorRT's ``trtexec``, one per line; none where no layer is excluded.

    Raises CannotExclude for a name with a comma or a colon, which the option uses itself.

    >>> layer_precisions([Layer("/0/Conv", True, "Conv", 144, 64)])
    ['--precisionConstraints=obey', '--layerPrecisions=/0/Conv:fp32']
    """
    for layer in layers:
        if re.search(r"[,:\s]", layer.name):
            raise CannotExclude(
                f"trtexec separates layers by commas and colons, so --layerPrecisions cannot name {layer.name!r}"
            )
    listed = ",".join(f"{layer.name}:fp32" for layer in layers)
    return ["--precisionConstraints=obey", f"--layerPrecisions={listed}"] if layers else []


def written(form: str, layers: Sequence[Layer]) -> str:
    """The text of a file with these layers in one of FORMS. Raises CannotExclude for a layer without a name of its own,
    which no tool can be told of.
    """
    nameless = [layer.name for layer in layers if not layer.named]
    if nameless:
        raise CannotExclude(
            f"the file gives no name to {len(nameless)} of the layers to exclude (the first makes {nameless[0]!r}), so "
            "no quantiser can be told of them; name the nodes when the file is exported"
        )
    if form == "tensorrt":
        return "".join(f"{line}\n" for line in layer_precisions(layers))
    return json.dumps(nodes_to_exclude(layers) if form == "onnxruntime" else ignored_scope(layers), indent=1) + "\n"
