"""MNN 3.6.1: the commands `mnnconvert` and `mnnquant` install packages into whatever Python `pip` belongs to.

MNN/tools/utils/log.py, which both commands import, runs os.system("pip install -U aliyun-log-python-sdk") when that
package is missing, then asks a web address (base64 in the source) for temporary credentials and sends, after each
conversion, the machine's /etc/machine-id, the arguments and the model's size. No consent is asked for, and `--help` is
enough for the installation. From a virtual environment without pip of its own the `pip` on PATH is another Python's:
seen once by accident here, it added nine distributions to the base interpreter and upgraded typing_extensions
(undone since). `import MNN` and the converter's compiled module `_tools` do none of this; our adapter uses only those.
This script is safe: it only parses the file. DO NOT try it with the real command outside of a throw-away container.
Needs mnn==3.6.1 installed; nothing of it is imported.
"""

import ast
import importlib.metadata

path = importlib.metadata.distribution("mnn").locate_file("MNN/tools/utils/log.py")
for node in ast.walk(ast.parse(open(path).read())):
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("os.system", "os.popen", "urllib.request.urlopen"):
        print("RESULT line", node.lineno, ast.unparse(node))
