"""Batches: padding on either side, cuts that are counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from albertine.errors import AlbertineError
from albertine.tokenizer import Tokenizer
from albertine.tokenizer.batch import fit

LENGTHS = st.integers(0, 60)


@given(LENGTHS, LENGTHS, st.integers(0, 60))
def test_longer_text_gives_way_first(first: int, second: int, room: int) -> None:
    kept = [first, second]
    while sum(kept) > room:
        kept[0 if kept[0] > kept[1] else 1] -= 1
    assert fit(first, second, room) == tuple(kept)


def test_padding(tokenizers: dict[str, Tokenizer]) -> None:
    batch = tokenizers["bert"].batch(["the cat", "", "cat"])
    assert batch.ids_BT.tolist() == [[2, 5, 6, 3], [2, 3, 0, 0], [2, 6, 3, 0]]
    assert batch.real_BT.sum(axis=1).tolist() == [4, 2, 3]
    assert (batch.ids_BT.dtype, batch.real_BT.dtype, batch.segments_BT.dtype) == ("int64", "bool", "int64")
    assert batch.truncated == 0
    assert tokenizers["bert"].batch(["cat"], pad_to=6).ids_BT.tolist() == [[2, 6, 3, 0, 0, 0]]


def test_xlnet_pads_on_the_left(tokenizers: dict[str, Tokenizer]) -> None:
    batch = tokenizers["xlnet"].batch(["cat", "cat cat"])
    assert batch.real_BT.tolist() == [[False, True, True, True], [True] * 4]


def test_cuts_are_counted(tokenizers: dict[str, Tokenizer]) -> None:
    bert = tokenizers["bert"]
    batch = bert.batch(["the cat sat", "cat"], max_length=4)
    assert batch.ids_BT.tolist() == [[2, 5, 6, 3], [2, 6, 3, 0]]
    assert batch.truncated == 1
    pairs = bert.batch(["the cat sat"], pairs=["cat sat"], max_length=6)
    assert pairs.ids_BT.tolist() == [[2, 5, 6, 3, 6, 3]]
    assert pairs.truncated == 1


def test_the_rule_for_digits_comes_before_the_cut(tokenizers: dict[str, Tokenizer]) -> None:
    batch = tokenizers["albert"].batch(["20, 20, 20,"], max_length=5)
    assert batch.ids_BT.shape == (1, 5)
    assert batch.truncated == 1


def test_empty_batch(tokenizers: dict[str, Tokenizer]) -> None:
    assert tokenizers["bert"].batch([]).ids_BT.shape == (0, 0)


def test_misuse_is_one_line(tokenizers: dict[str, Tokenizer]) -> None:
    bert = tokenizers["bert"]
    with pytest.raises(AlbertineError, match="no room"):
        bert.batch(["cat"], max_length=2)
    with pytest.raises(AlbertineError, match="2 texts and 1 pairs"):
        bert.batch(["cat", "cat"], pairs=["cat"])
    with pytest.raises(AlbertineError, match="a list of texts"):
        bert.batch("cat")
    with pytest.raises(AlbertineError, match="cannot be segmented"):
        bert.encode("\ud800")
