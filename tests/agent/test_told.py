"""The first line of a message says what is wrong: texts that tools really wrote."""

from __future__ import annotations

import pytest

from bench_plugin.agent.causes import told

ERF = (
    'Could not translate MLIR to FlatBuffer.<unknown>:0: error: loc(callsite(fused["Erf:", "model_40/tf.math.erf/Erf'
    '@__inference_outputs_4566"] at callsite(fused["StatefulPartitionedCall:", "StatefulPartitionedCall@__inference_'
    'signature_wrapper_4640"] at fused["StatefulPartitionedCall:", "StatefulPartitionedCall"]))): '
    "'tf.Erf' op is neither a custom op nor a flex op\n<unknown>:0: note: loc(fused: called from"
)
RESHAPE = (
    'Exception encountered when calling layer "tf.reshape" (type TFOpLambda).\n\n'
    "Cannot convert a partially known TensorShape (None, 4) to a Tensor.\n\nCall arguments received by layer"
)
LSTM = (
    "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: /onnxruntime_src/onnxruntime/core/providers/cpu/"
    "rnn/lstm_base.h:53 onnxruntime::LSTMBase::LSTMBase(const onnxruntime::OpKernelInfo&) "
    "activation_func_names.size() == static_cast<size_t>(num_directions_) * 3 was false."
)

DIVISION = (
    "tflite/kernels/div.cc:262 data[i] != zero_point was not true.Node number 41 (DIV) failed to invoke."
)  # fmt: skip

USER_CODE = (
    "in user code:\n\n"
    '    File "site-packages/onnx2tf/ops/Loop.py", line 31, in call  *\n'
    "        maximum_iterations=maximum_iterations,\n\n"
    "    NotImplementedError: Attempting to build a graph-mode TensorArray: this is not supported.\n\n\n"
)
LOOP = (
    'Exception encountered when calling layer "while__loop" (type While_Loop_CustomLayer).\n\n'
    f"{USER_CODE}Call arguments received by layer"
)

WITHIN = USER_CODE.replace(
    "Attempting to build",
    'Exception encountered when calling layer "tf.matmul" (type TFOpLambda).\n    \n    '
    "Dimensions must be equal to build",
)

OPERANDS = (
    "Binary operators must have the same datatype for both operands.  However, R.nn.conv2d(lv8, "
    'metadata["ir.GenericConst"][0], strides=[1, 1], out_dtype=None)\n# Metadata omitted. Use show_meta=True in '
    "script() method to show it. uses datatype T.float32 on the LHS (Type of R.Tensor((n, 12), "
    'dtype="float32")), and datatype T.float16 on the RHS.'
)
EMITTED = (
    "CodeGenVM cannot emit this Relax operator directly. Run the appropriate lowering pass.\n"
    "Offending call:\nR.concat((array, alloc8), axis=2)"
)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        (
            OPERANDS,
            "Binary operators must have the same datatype for both operands.  However, R.nn.conv2d(...) uses datatype "
            'T.float32 on the LHS (Type of R.Tensor((n, 12), dtype="float32")), and datatype T.float16 on the RHS.',
        ),
        (
            EMITTED,
            "CodeGenVM cannot emit this Relax operator directly. Run the appropriate lowering pass. (R.concat)",
        ),
        (ERF, "'tf.Erf' op is neither a custom op nor a flex op"),
        (
            RESHAPE,
            "Cannot convert a partially known TensorShape (None, 4) to a Tensor. (in a layer of type TFOpLambda)",
        ),
        (
            LSTM,
            "[ONNXRuntimeError] : 1 : FAIL : Exception during initialization: "
            "activation_func_names.size() == static_cast<size_t>(num_directions_) * 3 was false.",
        ),
        (
            LOOP,
            "Attempting to build a graph-mode TensorArray: this is not supported. "
            "(in a layer of type While_Loop_CustomLayer)",
        ),
        (USER_CODE, "Attempting to build a graph-mode TensorArray: this is not supported."),
        (WITHIN, "Dimensions must be equal to build a graph-mode TensorArray: this is not supported."),
        (DIVISION, DIVISION),
        ("list index out of range", "list index out of range"),
        ("", ""),
    ],
)
def test_the_cause_comes_first_and_nothing_is_lost(text: str, first: str) -> None:
    found = told(text)
    assert found.partition("\n")[0] == first
    assert found.endswith(text)
