"""What a failure comes from: each row of the table of the environment, and exceptions that an adapter declares."""

from __future__ import annotations

import errno
import os
import subprocess

import pytest

from bench_plugin.agent import causes, server
from bench_plugin.agent.adapter import InvalidModel, NotProvided, Unsupported

SAYS = {
    "memory": "terminate called after throwing an instance of 'std::bad_alloc'",
    "disk": "cannot write weights.bin: No space left on device",
    "open files": "accept: Too many open files",
    "processes": "RuntimeError: can't start new thread",
    "device": "read: Input/output error",
    "signal from outside": "pnnx was killed by SIGKILL: no message",
    "program": "riscv64-linux-gnu-gcc not found; install gcc-riscv64-linux-gnu",
    "file": "fatal error: math.h: No such file or directory",
    "library": "libgomp.so.1: cannot open shared object file",
    "module": "ModuleNotFoundError: No module named 'onnx'",
    "permission": "mkdir /opt/cache: Permission denied",
    "read-only": "cannot create a.o: Read-only file system",
    "busy": "mycc: Text file busy",
    "name": "Temporary failure in name resolution",
    "connection": "the download failed: Connection refused",
    "network": "connect: Network is unreachable",
}
OWN = [{"package": "json"}, {"exception": "ToolFailed"}, {"exception": "RuntimeError", "pattern": "^tool: "}]


class ToolFailed(Exception):
    """Raised by an adapter with a tool's text."""


def test_every_row_of_the_table_has_a_test() -> None:
    assert SAYS.keys() == causes.RESOURCES.keys() | causes.SURROUNDINGS.keys()


@pytest.mark.parametrize("name", SAYS)
def test_a_text_that_speaks_of_the_environment_is_known(name: str) -> None:
    assert causes.environment_of(SAYS[name]) == name
    for error in (ToolFailed(SAYS[name]), Unsupported(SAYS[name]), InvalidModel(SAYS[name])):
        assert causes.cause_of(error, OWN) == causes.ENVIRONMENT


@pytest.mark.parametrize("text", ["node 17 (Gemm) has no lowering", "op Frobnicate not found in the registry", ""])
def test_a_text_of_the_tool_is_not_of_the_environment(text: str) -> None:
    assert causes.environment_of(text) == ""


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EMFILE, os.strerror(errno.EMFILE)), ConnectionResetError(), TimeoutError(), MemoryError(),
        ImportError("cannot import x"), subprocess.TimeoutExpired("mycc", 3), NotProvided("mycc is absent"),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_exceptions_of_the_environment_are_never_the_tools_own(error: Exception) -> None:
    assert causes.cause_of(error, [{"exception": "Exception"}]) == causes.ENVIRONMENT
    wrapped = ToolFailed("the compiler gave up")
    wrapped.__cause__ = error
    assert causes.cause_of(wrapped, OWN) == causes.ENVIRONMENT


def test_what_the_adapter_declares_is_the_tools_own() -> None:
    assert causes.cause_of(ToolFailed("no pattern for Gemm"), OWN) == causes.TOOL
    assert causes.cause_of(RuntimeError("tool: no pattern for Gemm"), OWN) == causes.TOOL
    assert causes.cause_of(RuntimeError("a fault of ours"), OWN) == causes.UNKNOWN
    assert causes.cause_of(ToolFailed("no pattern for Gemm"), []) == causes.UNKNOWN


def test_a_package_s_exceptions_are_its_types_and_what_it_lets_through() -> None:
    import json

    def fails(value: object) -> object:
        raise ZeroDivisionError

    for given in ("{", "[" * 3):
        with pytest.raises(ValueError) as caught:
            json.loads(given)
        assert causes.cause_of(caught.value, OWN) == causes.TOOL
    with pytest.raises(TypeError) as through:  # a built-in type, out of json's frames
        json.dumps(object())
    assert causes.cause_of(through.value, OWN) == causes.TOOL
    assert causes.cause_of(through.value, [{"package": "js"}]) == causes.UNKNOWN


def test_a_tool_that_lacks_a_module_for_an_operator_says_so() -> None:
    declared = Unsupported("No module named 'onnx2tf.ops.Frobnicate'")
    declared.__cause__ = ModuleNotFoundError(str(declared))
    assert causes.cause_of(declared, []) == causes.TOOL


def test_a_key_that_is_not_there_says_less_than_the_error_that_was_made_of_it() -> None:
    made = ToolFailed("Missing dtype for value 'gn' in op GroupNormalization")
    made.__cause__ = KeyError("gn")
    assert server._message(made) == "Missing dtype for value 'gn' in op GroupNormalization"
    made.__cause__ = ToolFailed("the cause")
    assert server._message(made) == "the cause"


def test_what_the_machine_ran_out_of_is_told_where_it_stands_below_the_first_line() -> None:
    failed = "C++ compile error\n\nOutput:\nfatal error: cannot write PCH file: No space left on device\n"
    assert causes.resource_below(failed) == "No space left on device"
    assert causes.resource_below("cannot write: No space left on device\nNo space left on device") == ""
    assert causes.resource_below("C++ compile error\nerror: expected ';'") == ""


def test_a_chain_that_is_a_circle_ends() -> None:
    one, other = ToolFailed("one"), ToolFailed("other")
    one.__cause__, other.__cause__ = other, one
    assert causes.cause_of(one, OWN) == causes.TOOL


def test_a_refused_allocation_in_any_words_is_out_of_memory() -> None:
    assert causes.out_of_memory(RuntimeError("the pass failed: std::bad_alloc"))
    assert causes.out_of_memory(MemoryError())
    assert not causes.out_of_memory(RuntimeError("the pass failed"))
