"""`spiece.model`: what a SentencePiece model says, read without SentencePiece."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from albertine.errors import AlbertineError
from albertine.protobuf import fields
from albertine.tokenizer.untrusted import longest_replacement

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
_UNIGRAM = 1
_MAX_PIECE = 4096  # characters
_MAX_REPLACEMENT = 256  # bytes; the published rules reach 33


class Piece(NamedTuple):
    text: str
    score: float
    kind: int


@dataclass(frozen=True)
class SentencePieceModel:
    pieces: tuple[Piece, ...]
    charsmap: bytes  # normalisation rules, in the form that the tokenizers library also reads
    byte_fallback: bool


def parse_model(data: bytes, where: str) -> SentencePieceModel:
    """Read a unigram model whose spaces are handled as ALBERT's and XLNet's are."""
    pieces: list[Piece] = []
    trainer = normalizer = b""
    for field in fields(data, where):
        if field.number == 1:
            pieces.append(_piece(field.payload(where), f"{where}: piece {len(pieces)}"))
        elif field.number == 2:
            trainer = field.payload(where)
        elif field.number == 3:
            normalizer = field.payload(where)
    if not pieces:
        raise AlbertineError(f"{where}: holds no pieces; not a SentencePiece model, or truncated")
    _check_unique(pieces, where)
    return SentencePieceModel(tuple(pieces), _charsmap(normalizer, where), _trainer(trainer, where))


def _piece(message: bytes, where: str) -> Piece:
    text, score, kind = "", 0.0, NORMAL
    for field in fields(message, where):
        if field.number == 1:
            text = field.text(where)
        elif field.number == 2:
            score = field.float32(where)
        elif field.number == 3:
            kind = field.integer(where)
    if not 1 <= len(text) <= _MAX_PIECE or not math.isfinite(score) or not NORMAL <= kind <= BYTE:
        raise AlbertineError(f"{where}: damaged ({len(text)} characters, score {score}, type {kind})")
    return Piece(text, score, kind)


def _check_unique(pieces: list[Piece], where: str) -> None:
    seen: dict[str, int] = {}
    for index, piece in enumerate(pieces):
        if piece.text in seen:
            raise AlbertineError(f"{where}: pieces {seen[piece.text]} and {index} are both {piece.text[:40]!r}")
        seen[piece.text] = index
    if sum(piece.kind == UNKNOWN for piece in pieces) != 1:
        raise AlbertineError(f"{where}: has to have exactly one unknown piece")


def _trainer(message: bytes, where: str) -> bool:
    """Whether the model falls back to bytes; models that are not unigram are refused."""
    byte_fallback = False
    for field in fields(message, where):
        if field.number == 3 and field.integer(where) != _UNIGRAM:
            raise AlbertineError(f"{where}: only unigram SentencePiece models are supported, as ALBERT's is")
        if field.number == 24 and field.integer(where):
            raise AlbertineError(f"{where}: treats spaces as suffixes, which is not supported")
        if field.number == 35:
            byte_fallback = bool(field.integer(where))
    return byte_fallback


def _charsmap(message: bytes, where: str) -> bytes:
    """The precompiled rules: a trie whose size in bytes stands first, then the replacements."""
    charsmap = b""
    for field in fields(message, where):
        if field.number == 2:
            charsmap = field.payload(where)
        elif field.number in (3, 4, 5) and not field.integer(where):
            raise AlbertineError(f"{where}: keeps spaces in a way that is not supported")
    if charsmap and longest_replacement(charsmap, where) > _MAX_REPLACEMENT:
        raise AlbertineError(f"{where}: its normalisation rules multiply the length of a text")
    return charsmap
