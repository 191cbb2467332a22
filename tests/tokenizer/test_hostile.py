"""Damaged and hostile files give one line that names the file, and nothing else."""

from __future__ import annotations

import base64
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from albertine.errors import AlbertineError
from albertine.protobuf import fields
from albertine.tokenizer import Tokenizer
from tests.tokenizer.samples import block, number, piece, spiece_model, varint

FUZZ = settings(max_examples=800, deadline=None, suppress_health_check=list(HealthCheck))
CHARSMAP = varint(4)[:1] + bytes(3) + b"\0\0\0\x80" + b"ab\0"
MODEL = spiece_model(normalizer=block(2, CHARSMAP) + number(3, 1), trainer=number(35, 0))


def survives(path: Path) -> None:
    """Loading and using a file works, or says in one line what is wrong and where."""
    try:
        tokenizer = Tokenizer.load(path)
        tokenizer.batch(["The cats, 20, [MASK] é", ""], pairs=["a" * 30, "x"])
        tokenizer.decode(range(50))
        tokenizer.save(path.parent / "saved")
    except AlbertineError as error:
        assert "\n" not in str(error)


def refused(path: Path, match: str, content: bytes | str | None = None) -> None:
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(AlbertineError, match=match) as caught:
        Tokenizer.load(path).encode("aaaa b")
    assert path.name in str(caught.value)
    assert "\n" not in str(caught.value)


damage = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=4)


def damaged(data: bytes, places: list[tuple[float, int]]) -> bytes:
    changed = bytearray(data)
    for place, byte in places:
        changed[int(place * len(data))] = byte
    return bytes(changed)


@FUZZ
@given(places=damage)
def test_damaged_spiece_model(places: list[tuple[float, int]], tmp_path: Path) -> None:
    path = tmp_path / "spiece.model"
    path.write_bytes(damaged(MODEL, places))
    survives(path)


@FUZZ
@given(length=st.integers(0, len(MODEL)))
def test_truncated_spiece_model(length: int, tmp_path: Path) -> None:
    path = tmp_path / "spiece.model"
    path.write_bytes(MODEL[:length])
    survives(path)


@FUZZ
@given(data=st.binary(max_size=200))
def test_arbitrary_bytes(data: bytes, tmp_path: Path) -> None:
    for name in ("spiece.model", "vocab.txt", "dict.txt", "tokenizer.json"):
        path = tmp_path / name
        path.write_bytes(data)
        survives(path)


@FUZZ
@given(data=st.binary(max_size=60))
def test_protobuf_fields(data: bytes) -> None:
    try:
        for field in fields(data, "message"):
            assert field.number > 0
    except AlbertineError as error:
        assert "message" in str(error)


@FUZZ
@given(name=st.sampled_from(["albert", "bert", "roberta", "words"]), places=damage, cut=st.floats(0.9, 1))
def test_damaged_tokenizer_json(
    tokenizers: dict[str, Tokenizer], name: str, places: list[tuple[float, int]], cut: float, tmp_path: Path
) -> None:
    whole = tokenizers[name].backend.to_str().encode()
    path = tmp_path / "tokenizer.json"
    path.write_bytes(damaged(whole, places)[: len(whole) if cut < 0.99 else int(cut * len(whole))])
    survives(path)


values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2**40),
    st.floats(),
    st.sampled_from(["", "x", "Split", "Replace", "Unigram", "[CLS]", "\ud800", "\0"]),
    st.just([]),
    st.just({}),
)


def places_in(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys; long vocabularies are thinned."""
    found: list[tuple[Any, Any]] = []
    children = list(value.items()) if isinstance(value, dict) else list(enumerate(value))
    for key, child in children[:12]:
        found.append((value, key))
        if isinstance(child, dict | list):
            found += places_in(child)
    return found


@FUZZ
@given(name=st.sampled_from(["albert", "bert", "roberta", "words"]), place=st.integers(0, 10**6), value=values)
def test_wrong_values_in_tokenizer_json(
    tokenizers: dict[str, Tokenizer], name: str, place: int, value: Any, tmp_path: Path
) -> None:
    content = json.loads(tokenizers[name].backend.to_str())
    places = places_in(content)
    container, key = places[place % len(places)]
    container[key] = value
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(content))
    survives(path)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "holds no pieces"),
        (MODEL[:-3], "claims"),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "claims"),
        (b"\x0a" + b"\xff" * 11, "longer than ten bytes"),
        (b"\x0b", "wire type"),
        (b"\x00\x01", "no field number"),
        (number(1, 5), "wire type 0 where bytes belongs"),
        (MODEL + piece("the", float("nan"), 1), "damaged"),
        (MODEL + piece("", 0.0, 1), "damaged"),
        (MODEL + piece("s", -1.0, 1), "are both 's'"),
        (MODEL + block(1, block(1, b"\xff")), "not UTF-8"),
        (MODEL + block(2, number(3, 2)), "only unigram"),
        (MODEL + block(3, number(3, 0)), "keeps spaces"),
        (MODEL + block(3, block(2, b"\xff" * 9)), "damaged normalisation rules"),
        (MODEL + block(3, block(2, CHARSMAP + b"a" * 300)), "multiply"),
        (piece("<unk>", 0.0, 2) + piece("a", -1.0, 1), "cls token"),
    ],
)
def test_spiece_model(content: bytes, match: str, tmp_path: Path) -> None:
    refused(tmp_path / "spiece.model", match, content)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("vocab.txt", b"", "empty vocabulary"),
        ("vocab.txt", b"[PAD]\n\xff\n", "line 2 .* is not UTF-8"),
        ("vocab.txt", b"[PAD]\ncat\n", r"unk token '\[UNK\]' is not"),
        ("vocab.txt", b"[UNK]\n[SEP]\n", r"cls token"),
        ("dict.txt", b"", "empty dictionary"),
        ("dict.txt", b"a b\n", "line 1 is not a symbol and its count"),
        ("dict.txt", b"a 1\na 1\n", "line 2 repeats"),
        ("tokenizer.json", b"[]", "JSON object"),
        ("tokenizer.json", b"{", "not JSON"),
        ("tokenizer.json", b"{}", "tokenizer.json"),
        ("tokenizer.json", b'{"a":' * 100_000, "nested too deeply|not JSON"),
        ("tokenizer.json", b"1" * 5000, "not JSON"),
        ("tokenizer.bin", b"", "ends in"),
    ],
)
def test_other_files(name: str, content: bytes, match: str, tmp_path: Path) -> None:
    refused(tmp_path / name, match, content)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(AlbertineError, match="no such file"):
        Tokenizer.load(tmp_path / "absent")
    with pytest.raises(AlbertineError, match="no tokenizer found"):
        Tokenizer.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("tokenizer_config.json", '{"do_lower_case": "yes"}'),
        ("tokenizer_config.json", '{"model_max_length": -1}'),
        ("tokenizer_config.json", '{"padding_side": "up"}'),
        ("special_tokens_map.json", '{"mask_token": 4}'),
        ("special_tokens_map.json", '{"unk_token": "[NONE]"}'),
    ],
)
def test_settings(folders: dict[str, Path], name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_bytes((folders["bert"] / "vocab.txt").read_bytes())
    (tmp_path / name).write_text(content)
    with pytest.raises(AlbertineError, match=r"json|\[NONE\]"):
        Tokenizer.load(tmp_path)


def test_gpt2_files(folders: dict[str, Path], tmp_path: Path) -> None:
    for name in ("encoder.json", "vocab.bpe", "dict.txt"):
        (tmp_path / name).write_bytes((folders["roberta"] / name).read_bytes())
    refused(tmp_path / "vocab.bpe", "line 2 is not a pair", "#version\na b c\n")
    refused(tmp_path / "vocab.bpe", "vocab.bpe", "#version\nzzz yyy\n")
    refused(tmp_path / "dict.txt", "repeats|symbol", "0 1\n0 1\n")
    (tmp_path / "dict.txt").write_text("0 1\n")
    with pytest.raises(AlbertineError, match=r"symbols of encoder\.json are not in it"):
        Tokenizer.load(tmp_path)
    refused(tmp_path / "encoder.json", "the id of 'a'", '{"a": true}')
    refused(tmp_path / "encoder.json", "share an id", '{"a": 1, "b": 1}')


def with_step(tokenizers: dict[str, Tokenizer], folder: Path, **changes: Any) -> Path:
    content = json.loads(tokenizers["bert"].backend.to_str())
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({**content, **changes}))
    return path


def split(pattern: str) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*",
        "a*a*b",
        "(a?){30}",
        r"(a+)\1",
        r"(?<x>a)\g<x>",
        "a++",
        "a{1,99999}",
        "(?:a+|b)c+",
        "(",
    ],
)
def test_patterns_of_unknown_files(tokenizers: dict[str, Tokenizer], pattern: str, tmp_path: Path) -> None:
    path = with_step(tokenizers, tmp_path, pre_tokenizer=split(pattern))
    refused(path, "exponential time")


@pytest.mark.parametrize("pattern", [" {2,}", r"\s+", r"'s|'t| ?\p{L}+| ?\p{N}+|\s+(?!\S)|\s+", r"[^\]]+x?"])
def test_plain_patterns_pass(tokenizers: dict[str, Tokenizer], pattern: str, tmp_path: Path) -> None:
    Tokenizer.load(with_step(tokenizers, tmp_path, pre_tokenizer=split(pattern))).encode("a  b")


def test_a_panic_of_the_library_is_one_line(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    path = with_step(tokenizers, tmp_path, pre_tokenizer=split("(a+)+$"))
    tokenizer = Tokenizer.load(path, trust=True)
    with pytest.raises(AlbertineError, match="cannot be segmented"):
        tokenizer.encode("a" * 40 + "!")


def test_replacements_that_multiply(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    double = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    steps = {"type": "Sequence", "normalizers": [copy.copy(double) for _ in range(40)]}
    refused(with_step(tokenizers, tmp_path, normalizer=steps), "multiply")
    rules = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(CHARSMAP + b"a" * 999).decode()}
    refused(with_step(tokenizers, tmp_path, normalizer=rules), "multiply")


def test_padding_of_a_file_is_not_used(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    padding = {
        "strategy": {"Fixed": 10**13},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    assert len(Tokenizer.load(with_step(tokenizers, tmp_path, padding=padding)).encode("cat")) == 3
