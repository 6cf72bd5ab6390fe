"""onnx2tf, the importer into TensorFlow and the way from ONNX to TFLite: its options for layouts, and its errors."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench_plugin.adapters.frameworks import onnx_simplifier
from bench_plugin.agent.adapter import converting
from bench_plugin.agent.contract import Port
from bench_plugin.agent.toolkit import samples, versions

ADAPTER = {
    "name": "onnx2tf_conversion",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "Conversion by onnx2tf",
    "operations": [],
    "uses": ["onnx_simplifier"],
}

CHANNELS_FIRST = ("NCW", "NCHW", "NCDHW")
CHANNELS_LAST = ("NWC", "NHWC", "NDHWC")
# What onnx2tf feeds 4-D inputs of 3 channels in its dry run; it looks for this file in the working directory.
DRY_RUN_IMAGES = "calibration_image_sample_data_20x128x128x3_float32.npy"
# How onnx2tf's results are laid out, which is its way and no mistake.
OUTPUT_LAYOUT = (
    "onnx2tf: outputs of three to five dimensions come channels last; they are put back as the file declares"
)
MODULE = re.compile(r"onnx2tf/ops/(\w+)\.py")  # in a traceback: it has one module per operator
ESCAPES = re.compile(r"\x1b\[\d*m")  # colours of onnx2tf's messages


# Of the options that onnx2tf has, those that numbers can depend on are as it has them by default.
SWITCHES = {"onnx2tf.onnxsim": True, "onnx2tf.strict_mode": True}


class Adapter:
    """Remembers nothing; the adapters that use this file take its functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("onnx2tf", "onnxsim", "onnx")

    def reset(self) -> None:
        """Nothing to forget."""


def simplified(simplifier: onnx_simplifier.Simplifier, path: str) -> list[str]:
    """Let onnxsim rewrite a file, which onnx2tf does first unless it is told not to; what there is to note."""
    refused = simplifier.simplify(path)
    return [f"onnx2tf goes on without onnxsim, which says: {refused}"] if refused else []


def converted(path: str, options: Mapping[str, Sequence[str]]) -> Any:
    """The Keras model that onnx2tf makes of a simplified file, in its folder. ``options`` name inputs that it keeps.

    Raises RuntimeError with what onnx2tf printed where it gives up.
    """
    folder = os.path.dirname(path)
    with _inside(folder):
        return importlib.import_module("onnx2tf").convert(
            input_onnx_file_path=path, output_folder_path=os.path.join(folder, "saved_model"), non_verbose=True,
            not_use_onnxsim=True, disable_model_save=True, **options,
        )  # fmt: skip


def save_dry_run_images(folder: str) -> None:
    """Seeded images where onnx2tf looks for those of its dry run, instead of a download."""
    samples.save_images(os.path.join(folder, DRY_RUN_IMAGES), (20, 128, 128, 3))


def layout_options(ports: Sequence[Port]) -> dict[str, list[str]]:
    """onnx2tf's options that keep every input as the file has it; it transposes 3-D to 5-D ones otherwise."""
    first = [port.name for port in ports if port.layout in CHANNELS_FIRST]
    last = [port.name for port in ports if port.layout in CHANNELS_LAST]
    kept = {
        "keep_ncw_or_nchw_or_ncdhw_input_names": first,
        "keep_nwc_or_nhwc_or_ndhwc_input_names": last,
        "keep_shape_absolutely_input_names": [port.name for port in ports if port.name not in (*first, *last)],
    }
    return {option: names for option, names in kept.items() if names}


@contextlib.contextmanager
def _inside(folder: str) -> Iterator[None]:
    """Change to this folder. Raises RuntimeError with onnx2tf's output where it prints an error and exits.

    Its errors say which operator was being converted.
    """
    before, said = os.getcwd(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(said):
            yield
    except SystemExit as exit_:
        lines = [line for line in ESCAPES.sub("", said.getvalue()).splitlines() if line.strip()]
        errors = [line.partition("ERROR:")[2].strip() for line in lines if "ERROR:" in line]
        # Behind the cause comes what one may try.
        failed = RuntimeError((errors or lines or [f"onnx2tf exited with {exit_.code}"])[0])
        _name_operator(failed, said.getvalue())
        raise failed from None
    except Exception as error:
        _name_operator(error, traceback.format_exc())
        raise
    finally:
        os.chdir(before)
        print(said.getvalue())


def _name_operator(error: Exception, trace: str) -> None:
    modules = MODULE.findall(trace)
    if modules:
        converting(error, modules[-1])
