"""Packets on a serial line, in Python and in C: the same vectors, any payload, any damage."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench_plugin.reach.boards.uart_framing import PAYLOAD, STUFFED, Decoder, Kind, Packet, encode, stuffed, unstuffed
from tests.reach.boards.compiled import FIRMWARE, compiled
from tests.reach.boards.framing_fuzz import decoded_in_c, fuzzer, mutated

VECTORS = json.loads((Path(__file__).parent / "uart_vectors.json").read_text(encoding="utf-8"))
PACKETS, REFUSED = VECTORS["packets"], VECTORS["refused"]
KINDS = st.sampled_from(Kind)
PAYLOADS = st.one_of(st.binary(max_size=PAYLOAD), st.integers(0, PAYLOAD).map(bytes))
KNOWN = encode(Kind.DATA, 9, b"after the damage")
FUZZED = 20_000


@pytest.fixture(scope="module")
def in_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program that decodes and encodes with the firmware's C code."""
    return compiled(tmp_path_factory.mktemp("framing"), "uart_framing_main.c", ["uart_framing.c"])


@pytest.mark.parametrize("vector", PACKETS, ids=lambda one: one["name"])
def test_vectors_are_encoded_and_decoded(vector: dict[str, Any]) -> None:
    packet = Packet(Kind(vector["kind"]), vector["sequence"], bytes.fromhex(vector["payload"]))
    assert encode(*packet) == bytes.fromhex(vector["packet"])
    assert list(Decoder().feed(bytes.fromhex(vector["packet"]))) == [packet]


@pytest.mark.parametrize("vector", REFUSED, ids=lambda one: one["name"])
def test_damaged_vectors_are_refused_and_the_next_packet_is_found(vector: dict[str, Any]) -> None:
    decoder = Decoder()
    found = list(decoder.feed(bytes.fromhex(vector["bytes"]) + KNOWN))
    assert found == [Packet(Kind.DATA, 9, b"after the damage")]
    assert decoder.refused == 1


def test_c_reads_the_same_vectors(in_c: Path) -> None:
    data = b"".join(bytes.fromhex(one["packet"]) for one in PACKETS)
    packets, again, refused = decoded_in_c(in_c, data)
    assert packets == list(Decoder().feed(data)) and len(packets) == len(PACKETS)
    assert again == [bytes.fromhex(one["packet"]) for one in PACKETS]
    assert refused == 0


def test_c_refuses_the_same_vectors(in_c: Path) -> None:
    for vector in REFUSED:
        packets, _, refused = decoded_in_c(in_c, bytes.fromhex(vector["bytes"]) + KNOWN)
        assert (packets, refused) == ([Packet(Kind.DATA, 9, b"after the damage")], 1), vector["name"]


@given(KINDS, st.integers(0, 255), PAYLOADS, st.integers(1, 600))
def test_any_packet_arrives_in_any_pieces(kind: Kind, sequence: int, payload: bytes, piece: int) -> None:
    data = encode(kind, sequence, payload)
    assert 0 not in data[1:-1] and len(data) <= STUFFED + 2
    decoder = Decoder()
    found = [one for at in range(0, len(data), piece) for one in decoder.feed(data[at : at + piece])]
    assert found == [Packet(kind, sequence, payload)] and decoder.refused == 0


@given(st.binary(max_size=1000))
def test_stuffing_is_undone(data: bytes) -> None:
    assert 0 not in stuffed(data) and unstuffed(stuffed(data)) == data


@given(st.binary(max_size=3000))
def test_after_any_garbage_the_next_packet_is_found(garbage: bytes) -> None:
    found = list(Decoder().feed(garbage + KNOWN))
    assert found[-1:] == [Packet(Kind.DATA, 9, b"after the damage")]


@given(PAYLOADS, st.data())
def test_a_lost_doubled_or_changed_byte_is_noticed(payload: bytes, data: st.DataObject) -> None:
    packet = encode(Kind.DATA, 3, payload)
    at = data.draw(st.integers(1, len(packet) - 2))
    flipped = bytes([packet[at] ^ data.draw(st.integers(1, 255))])
    for damaged in (packet[:at] + packet[at + 1 :], packet[:at] + packet[at : at + 1] + packet[at:],
                    packet[:at] + flipped + packet[at + 1 :]):  # fmt: skip
        found = list(Decoder().feed(damaged + KNOWN))
        assert found in ([Packet(Kind.DATA, 9, b"after the damage")],
                         [Packet(Kind.DATA, 3, payload), Packet(Kind.DATA, 9, b"after the damage")])  # fmt: skip
        if len(found) == 2:  # a doubled byte may stand for the same bytes only where it is no part of the packet
            assert damaged.strip(b"\0") == packet.strip(b"\0")


def test_a_line_of_noise_takes_no_memory() -> None:
    decoder = Decoder()
    for _ in range(100):
        assert list(decoder.feed(b"\x55" * 10_000)) == []
    assert len(decoder._held) <= STUFFED
    assert list(decoder.feed(KNOWN)) == [Packet(Kind.DATA, 9, b"after the damage")]


def test_mutated_lines_are_read_the_same_in_both_languages(in_c: Path) -> None:
    """Under the sanitizers of addresses and of undefined behaviour: no byte may be read or written beyond a packet."""
    line = mutated(random.Random(7), FUZZED)
    decoder = Decoder()
    expected = list(decoder.feed(line))
    packets, _, refused = decoded_in_c(in_c, line)
    assert packets == expected and len(expected) > FUZZED / 4
    assert refused == decoder.refused > FUZZED / 10


def test_fuzzing_the_firmwares_reader_finds_nothing(tmp_path: Path) -> None:
    """Guided by the code that is reached; ``python -m tests.reach.boards.framing_fuzz 660`` does it for longer."""
    done = subprocess.run([*fuzzer(tmp_path), "2", "1"], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-4000:]
    said = json.loads(done.stdout)
    assert said["executions"] >= 1000 and said["packets"] > 0 and said["refused"] > 0


def test_sizes_are_the_same_in_both_languages() -> None:
    text = (FIRMWARE / "uart_framing.h").read_text(encoding="utf-8")
    assert f"#define UART_PAYLOAD {PAYLOAD}u" in text
    for kind in Kind:
        assert f"UART_{kind.name} = {kind.value}" in text


def test_a_payload_that_is_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="a payload of 513 bytes; at most 512 fit"):
        encode(Kind.DATA, 0, bytes(513))
