"""ncnn 1.0.20261020: a Mat without elements loses its shape: Sub has that of the other operand, Tile none.

Rule: ONNX Sub 14 broadcasts [3, 2, 0, 2] and [1, 2, 1, 2] to [3, 2, 0, 2]; Expand 13 by a shape [] leaves [0] as it is,
of which pnnx makes a Tile without repeats. A copy by clone(), which pnnx's own scripts call, has no dimensions and
elements of 0 bytes, and its numpy() raises an error. Without clone() Sub gives [3, 2, 1, 2], and Tile the same.
Upstream: none known.
Needs ncnn==1.0.20261020 and numpy. Ends with 1 while the defect shows, with 0 when it is gone.
"""

import sys

import ncnn
import numpy as np

SUB = "3 3\nInput in0 0 1 in0\nInput in1 0 1 in1\nBinaryOp s 2 1 in0 in1 out0 0=1\n"
TILE = "2 2\nInput in0 0 1 in0\nTile t 1 1 in0 out0 -23302=0\n"
wrong = 0
for graph, expected, *shapes in ((SUB, (3, 2, 0, 2), (3, 2, 0, 2), (1, 2, 1, 2)), (TILE, (0,), (0,))):
    net = ncnn.Net()
    assert net.load_param_mem("7767517\n" + graph) == 0
    extractor = net.create_extractor()
    for place, shape in enumerate(shapes):
        extractor.input(f"in{place}", ncnn.Mat(np.ones(shape, np.float32)).clone())
    y = extractor.extract("out0")[1]
    got = (y.c, y.d, y.h, y.w)[4 - y.dims :]
    print("expected", expected, "of elements of 4 bytes\ngot     ", got, "of elements of", y.elemsize, "bytes")
    wrong += got != expected
sys.exit(int(wrong > 0))
