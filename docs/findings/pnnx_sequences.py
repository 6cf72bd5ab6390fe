"""pnnx 20261020 (ncnn, not supported): sequences and optional values are not converted.

Rule: ONNX's operator list, opsets 11 to 26: the operators below; ONNX IR specification: an input may be a sequence or
an optional.
pnnx passes the operators on by name, and constants and lists as expressions, for which ncnn has no layers. It takes
tensors alone as inputs: of others it gives its onnxruntime a file with the type 0 and goes on into a null pointer
(SIGSEGV).
Needs ncnn==1.0.20261020, pnnx==20261020, onnx and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
import warnings

import ncnn
import onnx
from onnx.backend.test.loader import load_model_tests

CASES = """
Identity_of_optional=identity_opt Identity_of_sequence=identity_sequence SequenceInsert=sequence_insert_at_back
SequenceAt,SequenceErase=sequence_model2 SequenceAt,SequenceErase,SequenceInsert=sequence_model3
ConcatFromSequence=sequence_model4 ConcatFromSequence_new_axis=sequence_model5
SequenceLength,SplitToSequence=sequence_model6 SequenceAt,SplitToSequence=sequence_model7
"""
os.chdir(tempfile.mkdtemp())
warnings.simplefilter("ignore")  # of the values that onnx's own cases are made of
models = {
    case.name: case.model or onnx.load(f"{case.model_dir}/model.onnx")
    for kind in ("node", "simple")
    for case in load_model_tests(kind=kind)
}
pnnx = os.path.join(os.path.dirname(importlib.util.find_spec("pnnx").origin), "pnnx")  # the wrapper wants torch
refused = 0
for operator, case in (entry.split("=") for entry in CASES.split()):
    os.mkdir(case)
    onnx.save(models[f"test_{case}"], f"{case}/m.onnx")
    done = subprocess.run([pnnx, "m.onnx", "fp16=0"], cwd=case, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    said = f"pnnx ends with {done.returncode}" if done.returncode != 0 else ""
    if not said:
        with open(f"{case}/m.ncnn.param", encoding="utf-8") as file:
            kinds = dict.fromkeys(line.split()[0] for line in file.read().splitlines()[2:])
        unknown = [kind for kind in kinds if ncnn.layer_to_index(kind) < 0]
        said = f"ncnn has no layer {', '.join(unknown)}" if unknown else ""
    if said:
        refused += 1
        print(f"expected  {operator}: converted")
        print(f"got       {operator}: {said}", flush=True)
sys.exit(int(refused > 0))
