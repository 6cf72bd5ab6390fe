"""The tool refuses, crashes or hangs: it runs in a process of its own."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from importlib import metadata

import numpy as np


def main():
    """1 when the defect shows, 0 when it does not, 3 when something else happens, 4 when a package is missing."""
    say_versions()
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(HERE, "model.onnx"), folder)
        command = [sys.executable, os.path.abspath(__file__), "--child"]
        try:
            done = subprocess.run(
                command, cwd=folder, timeout=SECONDS, text=True, errors="replace", stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )  # fmt: skip
            happened, text = ending(done.returncode, done.stdout)
        except subprocess.TimeoutExpired:
            happened, text = "timeout", f"no end after {SECONDS} s"
    print("happened:", happened)
    print(text)
    return {SYMPTOM: 1, "no defect": 0}.get(happened, 3)


def ending(code, said):
    """How the process ended, and what there is to say of it."""
    if code < 0:
        return "crash", f"ended by signal {-code} ({signal.Signals(-code).name})"
    if code:
        return "exception" if SAYS in said else "another exception", "\n".join(said.strip().splitlines()[-12:])
    return "no defect", "it ran to its end"


if __name__ == "__main__":
    if "--child" in sys.argv:
        run(os.path.abspath("model.onnx"), dict(zip(INPUTS, load("inputs.npz"))))
    else:
        sys.exit(main())
