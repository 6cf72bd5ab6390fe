"""MNN 3.6.1: the commands mnnconvert and mnnquant install packages, and report usage over the network, unasked.

Rule: none of ONNX; what a program installs and sends is its user's choice.
MNN/tools/utils/log.py, which both commands import, runs os.system("pip install -U aliyun-log-python-sdk") when that
package is missing, then asks a web address for temporary credentials and sends, after each conversion, the machine's
/etc/machine-id, the arguments and the model's size. `--help` is enough for the installation. `import MNN` and the compiled
module `_tools` do none of this. This script is safe, it only parses the file; do not try the command outside a container.
Needs mnn==3.6.1 installed; nothing of it is imported. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import ast
import importlib.metadata
import sys

path = importlib.metadata.distribution("mnn").locate_file("MNN/tools/utils/log.py")
outside = ("os.system", "os.popen", "urllib.request.urlopen")
nodes = ast.walk(ast.parse(open(path).read())) if path.exists() else []
calls = [n for n in nodes if isinstance(n, ast.Call) and ast.unparse(n.func) in outside]
print("expected no call of", ", ".join(outside))
print("got     ", "; ".join(f"line {call.lineno}: {ast.unparse(call)[:80]}" for call in calls) or "none")
sys.exit(int(bool(calls)))
