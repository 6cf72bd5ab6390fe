"""What is a refusal: messages that tools really gave, each with its symptom, whatever the adapter."""

from __future__ import annotations

import pytest

from bench_plugin.agent import refusals
from bench_plugin.agent.adapter import InvalidModel, NotProvided, Unsupported


class ToolError(Exception):
    """What a tool raises."""


class Killed(RuntimeError):
    """A signal ended the tool's own process."""

    symptom = "crash"


REFUSED = [  # tool, message
    ("onnxruntime", "[ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed:Fatal error: "
     "ai.onnx.preview:FlexAttention(-1) is not a registered function/op"),
    ("onnxruntime", "[ONNXRuntimeError] : 9 : NOT_IMPLEMENTED : Could not find an implementation for Add(6) node with "
     "name 'n'"),
    ("onnxruntime", "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: !node_provider_type.empty() was "
     "false. Provider type for ReduceMax node with name '' is not set."),
    ("pnnx", "ort CreateSession failed This is an invalid model. In Node, (\"\", Binarizer, \"ai.onnx.ml\", -1) : "
     "(\"X\": tensor(float),) -> (\"Y\",) , Error No Op registered for Binarizer with domain_version of 1"),
    ("torch.onnx", "Unsupported: ONNX export of operator adaptive_avg_pool2d, output size that are not factor of input "
     "size. Please feel free to request support or submit a pull request on PyTorch GitHub"),
    ("torch.onnx", "Exporting the operator 'aten::fft_rfft' to ONNX opset version 17 is not supported."),
    ("torch.onnx", "No ONNX function found for <OpOverload(op='aten.fft_r2c', overload='default')>. Failure message: "
     "No decompositions registered for the real-valued input"),
    ("mxnet", "Unsupported Einsum equation: ij...,jk...->ik..."),
    ("onnx2torch", "Converter is not implemented (OperationDescription(domain='', operation_type='Einsum'))"),
    ("mx2onnx", "No conversion function registered for op type _contrib_box_nms yet."),
    ("coremltools", "No translator for operator Einsum"),
    ("openvino", "No conversion rule found for operations: LinearAttention-27"),
    ("openvino", "Unsupported operation of type: Convert name: LinearAttention_1"),
    ("emx", "Unsupported op Attention (while lowering node_index=0, op_type=Attention, name=<unnamed>)"),
    ("iree", "m.mlir:6:10: error: failed to legalize operation 'torch.operator' that was explicitly marked illegal"),
    ("iree", "unimplemented: support for the propagating NaN"),
    ("iree", "Unhandled TensorProto data type 17 of initializer w"),
    ("tensorflow", "'tf.Bernoulli' op is neither a custom op nor a flex op"),
    ("tvm", "The following operators are not supported for frontend ONNX: LinearAttention"),
    ("mnn", "These Op Not Support: ONNX::Attention"),
    ("tvm", "InternalError: Check failed: (data_type == PrimType::Float(32)) is false: layer_norm: only support "
     "float32 and float16 for now"),
]  # fmt: skip
OTHER = [  # what a tool says when it fails otherwise
    ("onnxruntime", "[ONNXRuntimeError] : 10 : INVALID_GRAPH : This is an invalid model. In Node, (\"\", Attention, "
     "\"\", -1) : Error Unrecognized attribute: left_window_size for operator Attention"),
    ("onnxruntime", "[ONNXRuntimeError] : 1 : FAIL : Non-zero status code returned while running ConvInteger node. "
     "Status Message: IsScalarOrNElementVector(W_Zero_Point, W_Shape[0]) was false"),
    ("iree", "LLVM Translation failed for operation: builtin.unrealized_conversion_cast"),
    ("iree", "'tensor.expand_shape' op inferred input/output operand #1 has shape's dimension #0 to be 2, but found 6"),
    ("ncnn", "ncnn cannot load the graph: status -1"),
    ("mnn", "Can't compute size for 21"),
    ("tvm", "InternalError: Check failed: (it != map.end()) is false: cannot find the operator in the map"),
    ("tensorflow", "Exception encountered when calling layer 'tf.math.add' (type TFOpLambda)."),
    ("openvino", "Check 'shapes_are_equal' failed: the shapes of the operands differ"),
]  # fmt: skip


@pytest.mark.parametrize(("tool", "message"), REFUSED, ids=[f"{tool}-{n}" for n, (tool, _) in enumerate(REFUSED)])
def test_what_a_tool_does_not_implement_is_a_refusal(tool: str, message: str) -> None:
    for error in (ToolError(message), RuntimeError(message), ValueError(message)):
        assert refusals.refuses(error), tool


@pytest.mark.parametrize(("tool", "message"), OTHER, ids=[f"{tool}-{n}" for n, (tool, _) in enumerate(OTHER)])
def test_any_other_failure_is_none(tool: str, message: str) -> None:
    assert not refusals.refuses(ToolError(message)), tool


def test_a_crash_and_an_assertion_are_none() -> None:
    said = "ReduceMax of uint8 is not supported"
    assert refusals.refuses(ToolError(said))
    for error in (Killed(said), AssertionError(said), TypeError("unsupported operand type(s) for +: 'int' and 'str'")):
        assert not refusals.refuses(error)
    assert not refusals.refuses(ToolError("unsupported operand type(s) for +: 'int' and 'str'"))


def test_what_has_a_symptom_of_its_own_keeps_it() -> None:
    for kind in (Unsupported, InvalidModel, NotProvided):
        assert not refusals.refuses(kind("it is not supported"))


def test_the_environment_is_none() -> None:
    assert not refusals.refuses(ToolError("cannot write, unsupported: No space left on device"))


def test_the_cause_of_an_exception_counts() -> None:
    error = ToolError("the export failed")
    error.__cause__ = ToolError("Unsupported Einsum equation")
    assert refusals.refuses(error)
    assert refusals.refuses(NotImplementedError())


def test_every_row_of_the_table_has_a_message() -> None:
    assert {refusals.refusal_in(message) for _, message in REFUSED} == refusals.PATTERNS.keys()
