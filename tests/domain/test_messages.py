"""Normalised messages: words stay whole, what varies from run to run goes, and the line with the cause is chosen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.domain.texts.messages import EMPTY, LONGEST, matches, normalised, useful_line

ONNXRUNTIME = (
    "InvalidGraph: [ONNXRuntimeError] : 10 : INVALID_GRAPH : Load model from {path} failed:This is an invalid model. "
    'In Node, ("", Attention, "", -1) : ("Q": tensor(float16),"K": tensor(float16),) -> ("Y": tensor(float16),) , Er'
    "ror Unrecognized attribute: left_window_size for operator Attention"
)
MLIR = (
    'Could not translate MLIR to FlatBuffer.<unknown>:0: error: loc(callsite(fused["MatMul:", "model_4/Y/MatMul@x_9"] '
    "at callsite(fused[\"A\"]))): 'tf.MatMul' op is neither a custom op nor a flex op"
)


@pytest.mark.parametrize(
    "text",
    [
        "no kernel for float8_e4m3fn, float8_e5m2fnuz, float4_e2m1fn_x2, int8 and bfloat16",
        "No module named 'PIL'",
        "No module named 'onnx2tf.ops.BitCast'",
        "No module named 'backend_2'",
        "Unsupported operator 'QLinearConv'",
        "These Op Not Support: ONNX::Col2Im",
        "KeyError: 'num_heads' of max_pool_2d",
        "ai.onnx.ml:TreeEnsemble is not a registered function/op",
        "No conversion rule found for operations: BatchNorm2d, LinearAttention-1",
        "f(x, y) takes no [batch, None]",
        "built for x86_64 with v1.26.4rc1, see https://example.org/issues/12",
    ],
)
def test_words_stay_whole(text: str) -> None:
    assert normalised(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("expected 1e-5, found nan and -inf in 12 of 300", "expected #, found # and # in # of #"),
        ("version 1.26.4 took 12ms, 1.5 GB, 300MB, 12.3%", "version # took #ms, # GB, #MB, #%"),
        ("shape [2, 3], (1, batch, 6), (4,), {1,2}, [[1,2],[3,4]], (-1)", "shape [#], (#), (#), {#}, [#], (#)"),
        ("tensor<1x3x?xf32> to !torch.vtensor<[?,?],si64>, 3x224x224", "tensor<#xf32> to !torch.vtensor<[#],si64>, #"),
        ("node_12, %34, %arg0, #5, tensor_7, unk__0, Conv_3_output",
         "node_#, %#, %arg#, #, tensor_#, unk__#, Conv_#_output"),
        ("at 0x7ffe12 of /home/me/a_b/c.py:17: bad", "at # of PATH:#: bad"),
        ("cannot open '/tmp/my dir/x.onnx' or ~/y.onnx or C:\\t\\z.dll", "cannot open 'PATH' or PATH or PATH"),
        ("made tmpab12_x9z for 0128c042 and 550e8400-e29b-41d4-a716-446655440000", "made PATH for # and #"),
        ("op [functional_1/dense_1/Gelu/Erfc: Erfc]", "op [functional_#/dense_#/Gelu/Erfc: Erfc]"),
        ("'{{node tf.reverse/ReverseV2}}' of 'tf.reverse'", "'{{node tf.reverse/ReverseV2}}' of 'tf.reverse'"),
        ("'{{node tf.math.add_12/Add}}' of 'tf.math.add_12'", "'{{node tf.math.add/Add}}' of 'tf.math.add'"),
        ("graph test_cumsum_1d: 3 nodes", "graph CASE: # nodes"),
        ("matmul_helper.h:142 Compute left", "matmul_helper.h:# Compute left"),
        ("dtype=(float32, 3) of f(Tensor, 2)", "dtype=(float32, #) of f(Tensor, #)"),
        ("two  blanks, \ta tab", "two blanks, a tab"),
        ("", "no reason was given"),
    ],
)  # fmt: skip
def test_what_varies_goes(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize("path", ["/tmp/a/model.onnx", f"/root/{'long/' * 40}model.onnx"])
def test_the_length_of_a_path_does_not_decide_where_a_message_ends(path: str) -> None:
    assert normalised(ONNXRUNTIME.format(path=path)).endswith("Unrecognized attribute: left_window_size for operator "
                                                              "Attention")  # fmt: skip


def test_places_of_mlir_go_and_its_error_stays() -> None:
    found = normalised(MLIR)
    assert found.endswith("error: loc: 'tf.MatMul' op is neither a custom op nor a flex op")
    assert normalised(MLIR.replace("model_4", "model_11").replace("x_9", "x_12")) == found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('loc("x") of loc("y"): bad', "loc of loc: bad"),
        ("alloc(x) and my_loc(y) of loc(z): bad", "alloc(x) and my_loc(y) of loc: bad"),
        ("bad at loc(fused", "bad at loc(fused"),
    ],
)
def test_every_place_of_mlir_goes_and_functions_whose_name_only_ends_so_stay(text: str, expected: str) -> None:
    assert normalised(text) == expected


def test_a_message_of_the_longest_length_stays_whole() -> None:
    text = "abcd " * 79 + "abcde"
    assert len(text) == LONGEST == 400
    assert normalised(text) == text


def test_a_message_is_cut_in_its_middle_between_words_without_the_full_stops_there() -> None:
    beginning = [".bcd", *["abcd"] * 37, "abX."]
    end = [".Xcd", *["abcd"] * 37, "abc."]
    found = normalised(" ".join([*beginning, *["word"] * 20, *end]))
    assert found == ".bcd " + "abcd " * 37 + "abX ... Xcd " + "abcd " * 37 + "abc."


def test_a_long_message_keeps_whole_words_of_its_beginning_and_its_end_and_still_matches_itself() -> None:
    found = normalised("first " + "word " * 200 + "no rule for Foo")
    assert len(found) <= LONGEST and found.startswith("first word") and found.endswith("word no rule for Foo")
    assert found.count("word ... word") == 1
    assert matches(found, found) and normalised(found) == found
    assert len(normalised("w" * 500)) <= LONGEST


def test_names_of_one_model_go() -> None:
    names = {"axes", "r0", "x1"}
    assert normalised("node 3 'r0' at 0x7ffe12 is [2, 3]\nmore", names) == "node # 'NAME' at # is [#]"
    assert normalised("r0_output of x1 and x11", names) == "NAME of NAME and x11"
    assert normalised("KeyError: 'axes' of all axes", names) == "KeyError: 'NAME' of all axes"
    assert normalised("'x1' is no 'sequence'", names) == "'NAME' is no 'sequence'"


def test_a_name_goes_whole_where_another_name_is_its_beginning() -> None:
    assert normalised("ab1/c of ab1", {"ab1", "ab1/c"}) == "NAME of NAME"


@given(st.text(st.sampled_from("ab _0129.,:;'\"/\\-[](){}<>%#x?…\n"), max_size=60))
def test_a_normalised_message_stays_as_it_is(text: str) -> None:
    once = normalised(text)
    assert normalised(once) == once


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n  bad thing \nmore", "bad thing"),
        ("Traceback (most recent call last):\n  File \"/a.py\", line 3, in f\nValueError: x", "ValueError: x"),
        ("Exception encountered when calling layer 'rnn' (type RNN).\n\nIncompatible shapes: [1,32] vs. [12,32]\n",
         "Incompatible shapes: [1,32] vs. [12,32]"),
        ("Exception from src/inference/src/cpp/core.cpp:97:\nUnsupported op", "Unsupported op"),
        ("==> Context:\nBad node spec for node", "==> Context: Bad node spec for node"),
        ("a:\nb\nc", "a: b"),
        ("a:\nb:\nc:\nd", "a: b: c:"),
        ("Traceback (most recent call last):\n-----", "Traceback (most recent call last):"),
        ("-----\n=====", "-----"),
        ("only this:", "only this:"),
        (" \n", ""),
    ],
)  # fmt: skip
def test_the_first_useful_line(text: str, line: str) -> None:
    assert useful_line(text) == line


@pytest.mark.parametrize(
    ("known", "text", "same"),
    [
        ("KeyError: '...'", "KeyError: 'axes'", True),
        ("KeyError: '...'", "ValueError: 'axes'", False),
        ("bad ... of ...", "bad shape of y", True),
        ("f(... name=x ...)", "f(a, name=x, b)", True),
        ("bad", "bad shape", False),
        ("bad ...", "a bad shape", False),
        ("f(x) [#]", "f(x) [#]", True),
    ],
)
def test_three_dots_stand_for_any_text(known: str, text: str, same: bool) -> None:
    assert matches(known, text) is same


def test_what_is_known_of_tensors_with_elements_is_the_same_without_them_but_not_the_reverse() -> None:
    without = f"SIGSEGV in tool.py run {EMPTY}"
    assert matches("SIGSEGV in tool.py run", without) and matches(without, without)
    assert not matches(without, "SIGSEGV in tool.py run") and not matches("SIGFPE in tool.py run", without)
