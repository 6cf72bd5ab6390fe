"""TensorFlow's threads where another adapter of the same process has started them already."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from bench_plugin.reach.environments.toolchains import Toolchains

ROOT = Path(__file__).parents[2]
SCRIPT = """
import os
import tensorflow as tf
tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
tf.add(1, 1)
from bench_plugin.adapters.frameworks import tensorflow
tensorflow.processors = lambda: 2
try:
    tf.config.threading.set_intra_op_parallelism_threads(2)
    raise SystemExit("TensorFlow takes another number of threads now: nothing has to be caught")
except RuntimeError:
    found = tensorflow.Adapter().tensorflow().add(1, 2)
print("RESULT", int(found), flush=True)
os._exit(0)
"""


def test_they_stay_as_they_are() -> None:
    python = str(Toolchains().ensure("tensorflow"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([python, "-c", SCRIPT], capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "RESULT 3"
