"""The original tokenizers, written out plainly from their published code."""

from __future__ import annotations

import json
import lzma
import unicodedata
from collections.abc import Callable
from functools import cache
from itertools import chain, islice, pairwise
from pathlib import Path

import regex
import sentencepiece


def lines(data: Path, *names: str, limit: int) -> list[str]:
    """The first lines with text of some corpora."""

    def read(name: str):
        with lzma.open(data / "corpora" / f"{name}.txt.xz", "rt", encoding="utf-8", newline="\n") as file:
            yield from (line.rstrip("\n") for line in file if line.strip())

    return list(islice(chain.from_iterable(map(read, names)), limit))


class SentencePieceOracle:
    """google-research/albert's tokenization.py and zihangdai/xlnet's prepro_utils.py."""

    def __init__(self, path: Path, *, lower: bool, quotes: bool, rule: bool) -> None:
        self.model = sentencepiece.SentencePieceProcessor(model_file=str(path))
        self.lower, self.quotes, self.rule = lower, quotes, rule

    def __call__(self, text: str) -> list[int]:
        pieces = self.model.EncodeAsPieces(self.prepared(text))
        if self.rule:
            pieces = list(chain.from_iterable(map(self.split, pieces)))
        return [self.model.PieceToId(piece) for piece in pieces]

    def prepared(self, text: str) -> str:
        text = " ".join(text.strip().split())
        if self.quotes:
            text = text.replace("``", '"').replace("''", '"')
        text = unicodedata.normalize("NFKD", text)
        text = "".join(c for c in text if not unicodedata.combining(c))
        return text.lower() if self.lower else text

    def split(self, piece: str) -> list[str]:
        if not (len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()):
            return [piece]
        pieces = self.model.EncodeAsPieces(piece[:-1].replace("▁", ""))
        if piece[0] != "▁" and pieces[0][0] == "▁":
            pieces = pieces[1:] if len(pieces[0]) == 1 else [pieces[0][1:], *pieces[1:]]
        return [*pieces, ","]


class BertOracle:
    """google-research/bert's tokenization.py."""

    def __init__(self, path: Path, *, lower: bool) -> None:
        with path.open(encoding="utf-8") as file:
            self.vocab = {line.strip(): index for index, line in enumerate(file)}
        self.lower = lower
        self.pieces = cache(self.wordpiece)

    def __call__(self, text: str) -> list[int]:
        text = "".join(f" {c} " if is_chinese(c) else c for c in clean(text))
        ids: list[int] = []
        for word in text.split():
            if self.lower:
                word = unicodedata.normalize("NFD", word.lower())
                word = "".join(c for c in word if unicodedata.category(c) != "Mn")
            spaced = "".join(f" {c} " if is_punctuation(c) else c for c in word)
            ids += chain.from_iterable(map(self.pieces, spaced.split()))
        return ids

    def wordpiece(self, word: str) -> list[int]:
        if len(word) > 200:
            return [self.vocab["[UNK]"]]
        ids: list[int] = []
        start = 0
        while start < len(word):
            prefix = "##" if start else ""
            end = next((e for e in range(len(word), start, -1) if prefix + word[start:e] in self.vocab), None)
            if end is None:
                return [self.vocab["[UNK]"]]
            ids.append(self.vocab[prefix + word[start:end]])
            start = end
        return ids


def clean(text: str) -> str:
    """Control characters go, every white space becomes a space."""
    kept = (c for c in text if c in "\t\n\r" or (c not in "\0�" and unicodedata.category(c) not in ("Cc", "Cf")))
    return "".join(" " if c in " \t\n\r" or unicodedata.category(c) == "Zs" else c for c in kept)


def is_punctuation(c: str) -> bool:
    return c in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" or unicodedata.category(c).startswith("P")


_CHINESE = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def is_chinese(c: str) -> bool:
    return c >= "㐀" and any(first <= ord(c) <= last for first, last in _CHINESE)


def roberta_oracle(vocab_path: Path, merges_path: Path) -> Callable[[str], list[int]]:
    """GPT-2's encoder.py over RoBERTa's ids."""
    vocab: dict[str, int] = json.loads(vocab_path.read_text(encoding="utf-8"))
    merges = merges_path.read_text(encoding="utf-8").split("\n")[1:-1]
    ranks = {tuple(merge.split()): rank for rank, merge in enumerate(merges)}
    alphabet = byte_alphabet()
    pattern = regex.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+")

    @cache
    def word(text: str) -> list[int]:
        symbols = [alphabet[byte] for byte in text.encode("utf-8")]
        while len(symbols) > 1:
            pair = min(pairwise(symbols), key=lambda p: ranks.get(p, len(ranks)))
            if pair not in ranks:
                break
            symbols = merged(symbols, pair)
        return [vocab[symbol] for symbol in symbols]

    return lambda text: list(chain.from_iterable(map(word, pattern.findall(text))))


def merged(symbols: list[str], pair: tuple[str, str]) -> list[str]:
    """Join every occurrence of a pair, from the left."""
    joined: list[str] = []
    index = 0
    while index < len(symbols):
        width = 2 if tuple(symbols[index : index + 2]) == pair else 1
        joined.append("".join(symbols[index : index + width]))
        index += width
    return joined


def byte_alphabet() -> dict[int, str]:
    """GPT-2's printable character for every byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
