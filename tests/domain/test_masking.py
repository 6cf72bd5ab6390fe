"""Secrets and half characters in texts: what becomes a mask, and what does not."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from bench_plugin.domain.outcome import Outcome, Status
from bench_plugin.domain.texts import masking
from bench_plugin.domain.texts.masking import clean, masked

SECRETS = [
    ("--hf-token=abc", "--hf-token=***"),
    ("--hf-token abc -q", "--hf-token *** -q"),
    ("pytest --x-password 'abc' test.py", "pytest --x-password *** test.py"),
    ("HF_TOKEN=abc python run.py", "HF_TOKEN=*** python run.py"),
    ("fakec.secret=abc", "fakec.secret=***"),
    ("failed with apikey=abc, and so on", "failed with apikey=***, and so on"),
    ("api_key='a b c' failed", "api_key=*** failed"),
    ("https://x.org/y?token=abc&z=1", "https://x.org/y?token=***&z=1"),
    ("GET https://me:pa55word@x.org/simple", "GET https://me:***@x.org/simple"),
    ("https://:pa55word@x.org", "https://:***@x.org"),
    ("{'password': 'abc', 'name': 'x'}", "{'password': ***, 'name': 'x'}"),
    ("Authorization: Basic YWJjOmRlZg==", "Authorization: Basic ***"),
    ("curl -H 'Bearer abcdefghij.klm'", "curl -H 'Bearer ***'"),
    ("got ghp_abcdefghijklmnop1234", "got ***"),
    ("got sk-abcdefghijklmnop1234.", "got ***."),
    ("AKIAABCDEFGHIJKLMNOP", "***"),
    ("-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----",
     "-----BEGIN RSA PRIVATE KEY-----***-----END RSA PRIVATE KEY-----"),
    ("AWS_SECRET_ACCESS_KEY=abc", "AWS_SECRET_ACCESS_KEY=***"),
]  # fmt: skip
HARMLESS = [
    "unexpected token: ')' at line 3",
    "token_type_ids=[1, 128] has the wrong shape",
    "TOKENIZERS_PARALLELISM=false",
    "max_tokens=4096",
    "author=somebody",
    "--bench-models=mask-rcnn-resnet50-fpn-v2",
    "key 0123456789ab: mismatch at compare",
    "git+https://github.com/onnx/onnx@v1.16",
    "https://example.org/a:b@c",
    "Bearer of bad news",
    "KeyError: 'layers.0.attention.query_key_value.weight'",
]


@pytest.mark.parametrize(("text", "shown"), SECRETS)
def test_a_secret_becomes_a_mask(text: str, shown: str) -> None:
    assert masked(text) == shown


@pytest.mark.parametrize("text", HARMLESS)
def test_other_texts_stay(text: str) -> None:
    assert masked(text) == text


def test_the_words_of_a_command() -> None:
    command = ["pytest", "--x-token", "abc", "--auth", "-q", "--bench-option", "fakec.token=abc", "test.py"]
    shown = ["pytest", "--x-token", "***", "--auth", "-q", "--bench-option", "fakec.token=***", "test.py"]
    assert clean(command) == shown


def test_tables_by_the_names_of_their_keys() -> None:
    row = {"status": "supported", "settings": {"options": {"fakec": {"token": "abc", "level": "2"}}}, "E": 1.0}
    cleaned = {"status": "supported", "settings": {"options": {"fakec": {"token": "***", "level": "2"}}}, "E": 1.0}
    assert clean(row) == cleaned


def _forget() -> None:
    """What is known of the environment and of texts is of this process and its start."""
    masking._values.cache_clear()
    masking._short.cache_clear()


def test_the_values_of_variables_wherever_they_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "MY_TOKEN": "supported",
        "DB_PASSWORD": "short",
        "SSH_AUTH_SOCK": "/tmp",
        "PWD": "x" * 9,
    }.items():
        monkeypatch.setenv(name, value)
    _forget()
    try:
        assert masked("it is supported, short, /tmp, xxxxxxxxx") == "it is ***, short, /tmp, xxxxxxxxx"
        assert clean({"status": "supported", "reason": "supported"}) == {"status": "supported", "reason": "***"}
    finally:
        _forget()


def test_half_characters_become_their_escapes() -> None:
    row = {"cell": {"model": "caf\udce9"}, "caf\udce9": ["\ud800", 1, None], "nodeid": "t[\udce9]"}
    assert clean(row) == {"cell": {"model": "caf\\udce9"}, "caf\\udce9": ["\\ud800", 1, None], "nodeid": "t[\\udce9]"}
    assert clean({"x": "Grüße, 模型"}) == {"x": "Grüße, 模型"}


@dataclass(frozen=True)
class Said:
    text: str
    parts: tuple[str, ...]


def test_records_keep_their_types() -> None:
    assert clean(Said("a_token=b", ("\ud800",))) == Said("a_token=***", ("\\ud800",))
    outcome = clean(Outcome(status=Status.SUPPORTED, reason="token=abc", flags=("x",)))
    assert outcome.status is Status.SUPPORTED and outcome.reason == "token=***" and outcome.flags == ("x",)


@pytest.mark.parametrize(
    "text", ["a" * 200_000, "token" * 40_000, "a-" * 100_000 + "token", "://" * 60_000, "=" * 200_000]
)
def test_a_long_text_takes_no_longer_than_it_must(text: str) -> None:
    began = time.process_time()
    masked(text)
    assert time.process_time() - began < 5
