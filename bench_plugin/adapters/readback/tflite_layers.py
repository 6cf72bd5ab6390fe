"""A quantised .tflite file read back: every node as a layer of its own, and the file with every result as an output."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from bench_plugin.adapters.readback import (
    tflite_choices,
    tflite_kernels,
    tflite_operators,
    tflite_resizing,
    tflite_transposed,
)
from bench_plugin.agent.adapter import Unsupported
from bench_plugin.agent.contract.rebuilt import HIGHEST, LOWEST
from bench_plugin.agent.toolkit import versions
from bench_plugin.agent.toolkit.rebuilding import Layers, Unread

ADAPTER = {
    "name": "tflite_layers",
    "kind": "tool",
    "toolchain": "tensorflow",
    "title": "Quantised TFLite files read back",
    "distribution": "ai-edge-litert",
    "operations": [],
    "uses": [
        "tflite_choices",
        "tflite_kernels",
        "tflite_operators",
        "tflite_resizing",
        "tflite_transposed",
    ],
}

IDENTIFIER = b"TFL3"
LIMITS = {"INT8": (-128, 127), "UINT8": (0, 255), "INT16": (-32768, 32767)}
TYPES = {
    "FLOAT32": "float32", "FLOAT16": "float16", "INT32": "int32", "INT8": "int8", "UINT8": "uint8", "INT16": "int16",
    "INT64": "int64", "BOOL": "bool", "FLOAT64": "float64",
}  # fmt: skip
SMALLEST = 2.0**-14  # the smallest normal number of float16
TRANSLATIONS: Mapping[str, Callable[[Any, Any], list[str]]] = {
    **tflite_operators.TRANSLATIONS, **tflite_resizing.RESIZING, **tflite_choices.CHOICES,
    tflite_transposed.OPERATOR: tflite_transposed.transpose_conv,
}  # fmt: skip
PROBE = "probe%05d"  # sorted behind the outputs of the file, whose names begin with "out"
DYNAMIC = ("FULLY_CONNECTED", "CONV_2D", "DEPTHWISE_CONV_2D", "BATCH_MATMUL")
# Nodes whose results have a range that is not the calibration's, but one that their kernels ask for.
FIXED = ("SOFTMAX", "LOG_SOFTMAX", "LOGISTIC", "TANH", "L2_NORMALIZATION")
# What may stand between a convolution and the sum that adds its bias.
BETWEEN = ("RESHAPE", "BATCH_TO_SPACE_ND", "MUL")
# Nodes whose results have the scale and the zero point of all that they take, as their kernels ask for it.
SHARING = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "RESHAPE", "TRANSPOSE", "SQUEEZE", "EXPAND_DIMS", "PAD", "PADV2", "SLICE",
           "STRIDED_SLICE", "SPLIT", "SPLIT_V", "SPACE_TO_BATCH_ND", "BATCH_TO_SPACE_ND", "RESIZE_NEAREST_NEIGHBOR",
           "RESIZE_BILINEAR", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "MIRROR_PAD", "TILE", "GATHER", "BROADCAST_TO",
           "GATHER_ND", "ADD_N", "RELU_0_TO_1", "UNPACK", "REDUCE_MAX", "REDUCE_MIN", "CONCATENATION", "PACK",
           "MAXIMUM", "MINIMUM", "SELECT", "SELECT_V2", "SCATTER_ND", "CUMSUM", "TOPK_V2", "REVERSE_V2",
           "DYNAMIC_UPDATE_SLICE")  # fmt: skip


class Adapter:
    """Remembers nothing; the adapter of the compiler takes the functions."""

    def versions(self) -> dict[str, str]:
        """Versions of the distributions that take part."""
        return versions.installed("ai-edge-litert", "numpy")

    def reset(self) -> None:
        """Nothing to forget."""


class File:
    """A .tflite file: tensors and nodes of its main graph. ``plain`` where its kernels run without a delegate."""

    def __init__(self, content: bytes, plain: bool) -> None:
        self.schema = importlib.import_module("ai_edge_litert.schema_py_generated")
        self.model = self.schema.ModelT.InitFromObj(self.schema.Model.GetRootAs(bytearray(content), 0))
        self.graph = self.model.subgraphs[0]
        self.plain = plain
        self._codes = {v: k for k, v in vars(self.schema.BuiltinOperator).items() if isinstance(v, int)}
        self._types = {v: k for k, v in vars(self.schema.TensorType).items() if isinstance(v, int)}

    def operator(self, node: Any) -> str:
        """The name of a node's operator."""
        code = self.model.operatorCodes[node.opcodeIndex]
        return str(self._codes[max(code.builtinCode, code.deprecatedBuiltinCode)])

    def type(self, index: int) -> str:
        """The name of a tensor's type."""
        return str(self._types[self.graph.tensors[index].type])

    def shape(self, index: int) -> list[int]:
        """The static shape of a tensor."""
        return [
            int(size)
            for size in (self.graph.tensors[index].shape if self.graph.tensors[index].shape is not None else [])
        ]

    def values(self, index: int) -> Any:
        """The values of a constant as they are stored; None for an activation."""
        numpy = importlib.import_module("numpy")
        data = self.model.buffers[self.graph.tensors[index].buffer].data
        if data is None or not len(data):
            return None
        raw = numpy.asarray(data, dtype="uint8").tobytes()
        return numpy.frombuffer(raw, TYPES[self.type(index)]).reshape(self.shape(index))

    def quantisation(self, index: int) -> tuple[Any, Any, int] | None:
        """Scales and zero points (float64 and int64 vectors) and their axis; None for a tensor without."""
        numpy = importlib.import_module("numpy")
        found = self.graph.tensors[index].quantization
        if found is None or found.scale is None or not len(found.scale):
            return None
        scales = numpy.asarray(found.scale, "float32").astype("float64")
        zeros = (
            numpy.zeros(len(scales), "int64") if found.zeroPoint is None else numpy.asarray(found.zeroPoint, "int64")
        )
        return scales, zeros, int(found.quantizedDimension)

    def exposed(self, tensors: list[int]) -> bytes:
        """The same file with these tensors as further outputs."""
        flatbuffers = importlib.import_module("flatbuffers")
        graph, signature = self.graph, self.model.signatureDefs[0]
        graph.outputs = [*(int(one) for one in graph.outputs), *tensors]
        for number, tensor in enumerate(tensors):
            entry = self.schema.TensorMapT()
            entry.name, entry.tensorIndex = PROBE % number, tensor
            signature.outputs.append(entry)
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(self.model.Pack(builder), file_identifier=IDENTIFIER)
        return bytes(builder.Output())


def rebuilt(content: bytes, *, plain: bool) -> tuple[Layers, bytes]:
    """The layers of a file, and the file with their tensors exposed.

    Raises Unsupported for a file whose graph is in several parts, or of which no node can be read back.
    """
    file, layers = File(content, plain), Layers()
    layers.complete = True
    outputs = len(file.model.signatureDefs[0].outputs)
    tensors = _activations(file)
    numbers = {tensor: outputs + place for place, tensor in enumerate(tensors)}
    reader = Reader(file, layers, numbers)
    for node in file.graph.operators:
        reader.read(node)
    reader.read_numbers()
    if not layers.results:
        raise Unsupported("no node of the artefact could be read back")
    return layers, file.exposed(tensors)


def halves(content: bytes) -> Layers:
    """The constants of a file that are stored in float16, and nothing else.

    Numbers below the normal ones of float16 become zeros. Raises Unsupported for a file with several graphs, or without
    such a constant.
    """
    numpy, file, layers = importlib.import_module("numpy"), File(content, plain=True), Layers()
    if len(file.model.subgraphs) > 1:
        raise Unsupported("the graph is in several parts")
    for node in file.graph.operators:
        index = int(node.inputs[0]) if node.inputs is not None and len(node.inputs) else -1
        values = file.values(index) if index >= 0 else None
        if file.operator(node) != "DEQUANTIZE" or values is None or file.type(index) != "FLOAT16":
            continue
        step = numpy.where(
            numpy.abs(values) < SMALLEST, 2 * SMALLEST, numpy.spacing(numpy.abs(values)).astype("float64")
        )
        users = [user for user in file.graph.operators if int(node.outputs[0]) in user.inputs]
        name = file.operator(users[0]) if users else "DEQUANTIZE"
        layers.quantised("weight", name, values.astype("float64"), step)
    if not layers.constants:
        raise Unsupported("no constant in float16 in the artefact")
    return layers


def _activations(file: File) -> list[int]:
    """The tensors that nodes take or make, which are no constants, once each."""
    found: dict[int, None] = {}
    for node in file.graph.operators:
        for index in [*(node.inputs if node.inputs is not None else []), *node.outputs]:
            if int(index) >= 0 and file.values(int(index)) is None and file.type(int(index)) in TYPES:
                found[int(index)] = None
    return list(found)


class Reader:
    """Reads the nodes of a file into layers. ``numbers`` has the output that exposes each tensor."""

    def __init__(self, file: File, layers: Layers, numbers: Mapping[int, int]) -> None:
        self.file = file
        self.layers = layers
        self.numbers = numbers
        self._declared: dict[int, str] = {}
        self._operator = ""
        self._makers = {int(made): node for node in file.graph.operators for made in node.outputs}
        self._rounded = {
            int(node.inputs[0]): int(node.outputs[0])
            for node in file.graph.operators
            if file.operator(node) == "QUANTIZE" and file.type(int(node.inputs[0])) == "FLOAT32"
        }
        self._counted: set[int] = set()

    def read(self, node: Any) -> None:
        """Read one node, or note why that cannot be done."""
        operator = self._operator = self.file.operator(node)
        translate = TRANSLATIONS.get(operator)
        made = [int(index) for index in node.outputs]
        if all(not self._judged(index) for index in made):
            return  # arithmetic of shapes
        if translate is None:
            self.layers.unread.append(f"{operator}: no translation")
            return
        before = len(self.layers.results)
        try:
            values = translate(self, node)
        except Unread as why:
            self.layers.unread.append(f"{operator}: {why}")
            return
        if len(values) != len(made):
            del self.layers.results[before:]
            self.layers.unread.append(f"{operator}: {len(values)} results where the file has {len(made)}")
            return
        for index, value in zip(made, values):
            if self._judged(index) or self.file.type(index) in tflite_choices.INTEGERS:
                self._made(node, operator, index, value)
                self._counted.add(index)

    def read_numbers(self) -> None:
        """Read the model's outputs that are the numbers of elements which a node chose."""
        for index in map(int, self.file.graph.outputs):
            first = index
            while first in self._makers and self.file.operator(self._makers[first]) in tflite_choices.MOVES:
                first = int(self._makers[first].inputs[0])
            if self.file.type(index) in tflite_choices.INTEGERS and first in self._makers:
                self.layers.made_numbers(self._numbers_of(first), self.numbers[index])

    def _numbers_of(self, index: int) -> str:
        """The numbers of elements that a tensor is in float64; empty where the node that makes them chooses none."""
        node = self._makers[index]
        translate = tflite_choices.CHOSEN.get(self.file.operator(node))
        try:
            return translate(self, node)[-1] if translate else ""
        except Unread:
            return ""

    def rounds_inputs(self, operator: str, node: Any) -> bool:
        """Whether the node takes floating point and multiplies in integers."""
        if operator not in DYNAMIC or len(node.inputs) < 2:
            return False
        first, second = int(node.inputs[0]), int(node.inputs[1])
        return self.file.type(first) == "FLOAT32" and self.file.type(second) == "INT8"

    def real(self, index: int) -> str:
        """The real values of an activation or of a constant. Raises Unread for a type that stands for no numbers.

        A constant in floating point is compared with the file.
        """
        file = self.file
        values, said = file.values(index), file.quantisation(index)
        if values is not None and file.type(index) == "FLOAT32":
            self._declare("weight", self._operator, index)
        if index in self._declared:
            return self._declared[index]
        if values is not None:
            if said is None or file.type(index) not in LIMITS:
                return self.layers.constant(values)
            scales, zeros = self.along(index)
            whole = values.astype("float64") - zeros
            if values.size > 1:  # a constant of a Concat
                self._declare("part", self._operator, index)
                return self._declared[index]
            if not self._ends_its_range(index, whole.item()):  # the bound of a MINIMUM, in steps
                ends = dict(zip(LIMITS[file.type(index)], (LOWEST, HIGHEST)))
                self._declare(ends.get(values.item(), "number"), self._operator, index)
                return self._declared[index]
            return self.layers.constant(whole * scales)  # a single number is the end of its own range
        name = f"t{index}"
        if index not in self.numbers:
            raise Unread(f"a tensor of type {file.type(index)}")
        self._count(index)
        if said is not None and file.type(index) in LIMITS:
            return self.layers.integers(name, self.numbers[index], float(said[0][0]), int(said[1][0]))
        maker = self._makers.get(index)
        return self.layers.floats(name, self.numbers[index], "" if maker is None else file.operator(maker))

    def _ends_its_range(self, index: int, whole: float) -> bool:
        """Whether a single number, ``whole`` steps from zero, is the end of a range that it has for itself."""
        low, high = LIMITS[self.file.type(index)]
        _, zeros = self.along(index)
        return abs(whole) == (high if zeros.item() == 0 else high - low)

    def _count(self, index: int) -> None:
        """Read the node that makes numbers of elements, once a layer needs them; others are arithmetic of shapes."""
        node = self._makers.get(index)
        if node is None or index in self._counted or self.file.type(index) not in tflite_choices.COUNTED:
            return
        self._counted.add(index)
        operator = self.file.operator(node)
        translate = tflite_choices.OF_NUMBERS.get(operator)
        try:
            values = translate(self, node) if translate else []
        except Unread:
            return  # the numbers are taken as they are
        for value in values:
            self._made(node, operator, index, value)

    def declare_later(self, node: Any) -> None:
        """Declare the constant that a sum adds to each channel behind a node without a bias: it is the bias.

        Behind a product with ones that repeats a result, TFLite adds it repeated as often.
        """
        index = self.added_behind(node)
        if index is None:
            return
        values, channels = self.file.values(index), self.file.shape(int(node.outputs[0]))[-1]
        if values.size == channels:
            self._declare("bias", "ADD", index)
        elif values.size and values.shape[-1] == channels and self.file.quantisation(index) is None:
            rows = values.reshape(-1, channels)
            if (rows == rows[0]).all():
                self._declare("bias", "ADD", index, rows[0])

    def added_behind(self, node: Any) -> int | None:
        """The constant that a sum behind a node adds to its result.

        TFLite writes a dilated convolution as one of blocks between SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND.
        """
        file, made = self.file, int(node.outputs[0])
        while not node.builtinOptions or not int(getattr(node.builtinOptions, "fusedActivationFunction", 0) or 0):
            users = [user for user in file.graph.operators if made in user.inputs]
            if len(users) != 1 or made in file.graph.outputs:
                return None
            [node] = users
            fixed = [int(one) for one in node.inputs if int(one) >= 0 and file.values(int(one)) is not None]
            made = int(node.outputs[0])
            if file.operator(node) == "ADD" and len(fixed) == 1:
                return fixed[0]
            if file.operator(node) not in BETWEEN or not fixed:
                return None
        return None

    def operand(self, operator: str, index: int) -> str:
        """The real values that a node takes; a constant of several elements is compared with the file."""
        values = self.file.values(index)
        if values is not None and values.size > 1:
            self._declare("weight", operator, index)
        return self.real(index)

    def _declare(self, kind: str, operator: str, index: int, row: Any = None) -> None:
        """Declare a constant; one in floating point may be a ``row`` that it repeats."""
        if index in self._declared:
            return
        if self.file.type(index) == "FLOAT32":
            own = self.file.values(index) if row is None else row
            self._declared[index] = self.layers.floating(kind, operator, own)
            return
        if self.file.quantisation(index) is None or self.file.type(index) not in LIMITS:
            return
        scales, zeros = self.along(index)
        real = (self.file.values(index).astype("float64") - zeros) * scales
        self._declared[index] = self.layers.quantised(kind, operator, real, scales)

    def along(self, index: int) -> tuple[Any, Any]:
        """Scales and zero points of a tensor, shaped to broadcast over it. Raises Unread for one without."""
        said = self.file.quantisation(index)
        if said is None:
            raise Unread("a constant of integers without a scale")
        scales, zeros, axis = said
        rank = len(self.file.shape(index))
        shape = [-1 if place == axis else 1 for place in range(rank)] if len(scales) > 1 else [1] * rank
        return scales.reshape(shape), zeros.reshape(shape)

    def _judged(self, index: int) -> bool:
        kind = self.file.type(index)
        scaled = kind in LIMITS and self.file.quantisation(index) is not None
        return index in self.numbers and (scaled or kind == "FLOAT32")

    def _made(self, node: Any, operator: str, index: int, value: str) -> None:
        said, kind = self.file.quantisation(index), self.file.type(index)
        if said is None or kind not in LIMITS:
            self.layers.made_floats(value, self.numbers[index], operator, self.rounds_inputs(operator, node))
            return
        computed, exception = tflite_kernels.as_computed(self, node) or (None, "")
        parameters = float(said[0][0]), int(said[1][0]), LIMITS[kind]
        sharing = self._sharing(index)
        calibrated = not any(self._computed_by(one) in FIXED for one in sharing)
        self.layers.made_integers(
            value, self.numbers[index], operator, *parameters, exception, calibrated=calibrated, computed=computed,
            shared=len(sharing) > 1,
        )  # fmt: skip

    def _sharing(self, index: int) -> set[int]:
        """The activations that have the scale and the zero point of a tensor, since nodes take and make the same."""
        found, wanted = {index}, [index]
        while wanted:
            one = wanted.pop()
            for node in self.file.graph.operators:
                if self.file.operator(node) not in SHARING:
                    continue
                near = [
                    self._in_integers(int(other))
                    for other in [*(node.inputs if node.inputs is not None else []), *node.outputs]
                ]
                if one not in near:
                    continue
                alike = [other for other in near if other not in found and self._alike(one, other)]
                found.update(alike)
                wanted += alike
        return found

    def _computed_by(self, index: int) -> str:
        """The operator that computes a tensor, "" without any: of a QUANTIZE that of the floating point it rounds."""
        maker = self._makers.get(index)
        if (
            maker is not None
            and self.file.operator(maker) == "QUANTIZE"
            and self.file.type(maker.inputs[0]) == "FLOAT32"
        ):
            maker = self._makers.get(int(maker.inputs[0]))
        return "" if maker is None else self.file.operator(maker)

    def _in_integers(self, index: int) -> int:
        """The integers that a tensor in floating point is made from or made into; the tensor itself without any."""
        maker = self._makers.get(index)
        if maker is not None and self.file.operator(maker) == "DEQUANTIZE":
            return int(maker.inputs[0])
        return self._rounded.get(index, index)

    def _alike(self, one: int, other: int) -> bool:
        """Whether two tensors are activations with one scale and zero point."""
        if one not in self.numbers or other not in self.numbers:
            return False
        parameters = [self.file.quantisation(index) for index in (one, other)]
        return None not in parameters and len({(float(p[0][0]), int(p[1][0])) for p in parameters if p}) == 1
