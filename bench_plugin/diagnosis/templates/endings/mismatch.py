"""The outputs are wrong: they are compared with expected.npz, in this process."""

import os
import shutil
import sys
import tempfile
import traceback
from importlib import metadata

import numpy as np


def wrong(name, found, expected, allowed):
    """What is wrong with an output, in one line; empty when it is right."""
    if found.shape != expected.shape:
        return f"{name}: shape {found.shape} instead of {expected.shape}"
    if expected.dtype.kind != "f":
        count = int((found != expected).sum())
        return f"{name}: {count} of {expected.size} elements differ, none may" if count else ""
    with np.errstate(all="ignore"):
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        error = np.where(same, 0.0, np.abs(found.astype("f8") - expected))
    error[np.isnan(error)] = np.inf
    measured = {"largest": error.max(initial=0), "rms": np.sqrt((error**2).sum() / max(error.size, 1))}
    exceeded = [
        f"{kind} error {value:.3g} where {allowed[kind]:.3g} is allowed"
        + (f" ({value / allowed[kind]:.3g} times as much)" if allowed[kind] else "")
        for kind, value in measured.items()
        if allowed[kind] is not None and value > allowed[kind]
    ]
    if not exceeded:
        return ""
    place = np.unravel_index(int(error.argmax()), error.shape)
    where = [int(index) for index in place]
    return f"{name}: {', '.join(exceeded)}; the largest at {where}: {found[place]} instead of {expected[place]}"


def main():
    """1 when the defect shows, 0 when it does not, 3 when something else happens, 4 when a package is missing."""
    say_versions()
    inputs, expected = dict(zip(INPUTS, load("inputs.npz"))), load("expected.npz")
    with tempfile.TemporaryDirectory() as folder:
        path = shutil.copy(os.path.join(HERE, "model.onnx"), folder)
        os.chdir(folder)
        found = [np.asarray(y) for y in run(path, inputs)]
    if len(found) != len(expected):
        lines = [f"{len(found)} outputs instead of {len(expected)}"]
    else:
        lines = [wrong(name, *pair, OUTPUTS[name]) for name, *pair in zip(OUTPUTS, found, expected)]
    lines = [line for line in lines if line]
    print("happened:", "mismatch" if lines else "no defect")
    print("\n".join(lines or ["the outputs are right"]))
    return 1 if lines else 0


if __name__ == "__main__":
    try:
        code = main()
    except Exception:
        traceback.print_exc()
        code = 3
    sys.exit(code)
