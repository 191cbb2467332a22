"""Ids are the original tokenizer's, on more than ten thousand real lines each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from albertine.tokenizer import Tokenizer
from tests.tokenizer.oracles import BertOracle, SentencePieceOracle, lines, roberta_oracle

pytestmark = pytest.mark.data

ENGLISH = ("en_heldout_wiki", "en_heldout_books")
CHINESE = ("zh_heldout_wiki_simp", "zh_wiki120_simp")


def differing(tokenizer: Tokenizer, oracle: Callable[[str], list[int]], texts: list[str]) -> list[int]:
    """The lines on which the two disagree."""
    assert len(texts) >= 10_000
    batch = tokenizer._segment(texts)
    return [n for n, (text, ids) in enumerate(zip(texts, batch, strict=True)) if ids != oracle(text)]


@pytest.mark.parametrize(("name", "lower", "quotes"), [("albert-en-30k", True, False), ("xlnet-en", False, True)])
def test_sentencepiece(shared_data: Path, name: str, lower: bool, quotes: bool) -> None:
    path = shared_data / "tokenizers" / name / "spiece.model"
    texts = lines(shared_data, *ENGLISH, limit=11_000) + lines(shared_data, *CHINESE, limit=2_000)
    tokenizer = Tokenizer.load(path)
    oracle = SentencePieceOracle(path, lower=lower, quotes=quotes, rule=True)
    assert len(differing(tokenizer, oracle, texts)) <= 1  # two segmentations with the same score in float32

    tokenizer.digit_comma_rule = False
    oracle.rule = False
    assert len(differing(tokenizer, oracle, texts)) <= 1


@pytest.mark.parametrize(
    ("name", "lower", "corpora"),
    [
        ("bert-base-uncased/vocab.txt", True, ENGLISH),
        ("bert-base-chinese/vocab.txt", True, CHINESE),
        ("unilm-cased/unilm-base-cased-vocab.txt", False, ENGLISH),
    ],
)
def test_wordpiece(shared_data: Path, name: str, lower: bool, corpora: tuple[str, ...]) -> None:
    path = shared_data / "tokenizers" / name
    texts = lines(shared_data, *corpora, limit=12_000)
    assert len(differing(Tokenizer.load(path), BertOracle(path, lower=lower), texts)) <= len(texts) // 1000


def test_roberta(shared_data: Path) -> None:
    folder = shared_data / "tokenizers" / "roberta-gpt2bpe"
    oracle = roberta_oracle(folder / "vocab.roberta-derived.json", folder / "vocab.bpe")
    texts = lines(shared_data, *ENGLISH, limit=11_000) + lines(shared_data, *CHINESE, limit=500)
    assert differing(Tokenizer.load(folder), oracle, texts) == []
