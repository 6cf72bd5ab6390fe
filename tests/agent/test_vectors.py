"""The frames of vectors.json, which serve an agent in another language too, and what the document says of them."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from bench_plugin.agent import wire
from bench_plugin.agent.channel import Channel
from bench_plugin.agent.link.handshake import Transcript, signature

VECTORS = json.loads(Path(__file__).with_name("vectors.json").read_text())
DOCUMENT = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()
CODES = {name: code for code, name in wire.KINDS.items()}
LETTERS = {1: "B", 2: "H", 4: "I", 8: "Q"}


def received(data: bytes) -> wire.Frame:
    """What a reader makes of these bytes and the end of the connection."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        return Channel(ours).receive()


def table(heading: str) -> list[list[str]]:
    """The rows of the first table below a heading of the document."""
    lines = DOCUMENT.partition(f"# {heading}\n")[2].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    length = next((n for n, line in enumerate(lines[first:]) if not line.startswith("|")), len(lines))
    return rows[2:length]


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["name"])
def test_a_frame_is_written_as_the_vector_says(vector: dict[str, Any]) -> None:
    arrays = [wire.Array(a["dtype"], tuple(a["shape"]), bytes.fromhex(a["data"])) for a in vector["arrays"]]
    parts = wire.encode(CODES[vector["kind"]], vector["call"], vector["meta"], arrays)
    assert b"".join(parts).hex() == vector["frame"]


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda vector: vector["name"])
def test_a_frame_is_read_as_the_vector_says(vector: dict[str, Any]) -> None:
    frame = received(bytes.fromhex(vector["frame"]))
    assert (wire.KINDS[frame.kind], frame.call, frame.meta) == (vector["kind"], vector["call"], vector["meta"])
    found = [{"dtype": a.dtype, "shape": list(a.shape), "data": bytes(a.data).hex()} for a in frame.arrays]
    assert found == vector["arrays"]


@pytest.mark.parametrize("vector", VECTORS["refused"], ids=lambda vector: vector["name"])
def test_a_frame_that_is_none_is_refused_with_its_reason(vector: dict[str, Any]) -> None:
    with pytest.raises(wire.WireError, match=re.escape(vector["reason"])):
        received(bytes.fromhex(vector["frame"]))


def test_the_vectors_hold_every_kind_and_every_dtype() -> None:
    assert {vector["kind"] for vector in VECTORS["frames"]} == set(CODES)
    assert {array["dtype"] for vector in VECTORS["frames"] for array in vector["arrays"]} == set(wire.DTYPES)


def link() -> tuple[Transcript, dict[str, Any]]:
    """The handshake of the vectors, computed from the token and the nonces."""
    row = VECTORS["link"]
    token, host, agent = (bytes.fromhex(row[name]) for name in ("token", "host_nonce", "agent_nonce"))
    return Transcript(token, host, agent, row["about"].encode()), row


def test_the_vectors_prove_the_token_and_derive_its_keys() -> None:
    transcript, row = link()
    assert transcript.proof("agent").hex() == row["proof_of_agent"]
    assert transcript.proof("host").hex() == row["proof_of_host"]
    to_agent, to_host, _, _ = json.loads(transcript.session("host").exported())
    assert (to_agent, to_host) == (row["key_to_agent"], row["key_to_host"])
    assert json.loads(transcript.session("agent").exported())[:2] == [to_host, to_agent]
    assert signature(transcript.hello_key(), row["hello"]) == row["signature"]


def test_the_document_says_how_proofs_keys_and_codes_are_made() -> None:
    """What the section on the link says, word by word, with the standard library alone."""
    _, row = link()

    def hmac_of(key: bytes, text: bytes) -> bytes:
        return hmac.new(key, text, "sha256").digest()

    token, host, agent = (bytes.fromhex(row[name]) for name in ("token", "host_nonce", "agent_nonce"))
    transcript = b"bench link 1\0" + host + agent + hashlib.sha256(row["about"].encode()).digest()
    named = {
        "proof of the agent": "proof_of_agent", "proof of the host": "proof_of_host",
        "key from host to agent": "key_to_agent", "key from agent to host": "key_to_host",
    }  # fmt: skip
    for label, name in named.items():
        assert f"`{label}`" in DOCUMENT
        assert hmac_of(token, label.encode() + b"\0" + transcript).hex() == row[name]
    frames = {vector["name"]: bytes.fromhex(vector["frame"]) for vector in VECTORS["frames"]}
    for one in row["from_host"]:
        text = struct.pack("<Q", one["number"]) + frames[one["frame"]]
        assert hmac_of(bytes.fromhex(row["key_to_agent"]), text)[:16].hex() == one["code"]


@pytest.mark.parametrize(
    ("heading", "layout"), [("Header", wire.HEADER), ("Descriptor", wire.DESCRIPTOR)], ids=["header", "descriptor"]
)
def test_the_document_places_fields_where_the_code_does(heading: str, layout: struct.Struct) -> None:
    end = 0
    letters = "<"
    for offset, size, name, _ in table(heading):
        assert int(offset) == end, f"{heading}: {name}"
        letters += {"magic": "4s", "dims": "8I"}.get(name) or LETTERS[int(size)]
        end += int(size)
    assert letters == layout.format
    assert end == layout.size


def test_the_document_has_the_code_s_numbers() -> None:
    header = {name: value for _, _, name, value in table("Header")}
    assert wire.MAGIC.decode() in header["magic"]
    assert header["version"] == str(wire.VERSION)
    for name, bound in (("metadata bytes", wire.MAX_META), ("blobs", wire.MAX_BLOBS), ("total", wire.MAX_BYTES)):
        assert header[name].endswith(f"at most {bound}")
    assert {int(row[0]): row[1] for row in table("Kinds")} == wire.KINDS
    assert f"at most {wire.MAX_RANK};" in DOCUMENT


def test_the_document_has_the_code_s_dtypes() -> None:
    rows = re.findall(r"\| (\d+) \| (\w+)(?: \([^)]*\))? \| (\d+) (?=\|)", DOCUMENT.partition("### What a reader")[0])
    assert {name: (int(code), int(bits)) for code, name, bits in rows if name in wire.DTYPES} == wire.DTYPES
