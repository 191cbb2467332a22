"""ALBERT's and XLNet's tokenizers: a SentencePiece model, and the Python code around it.

Before segmentation the original code collapses spaces, decomposes characters, drops accents and
(uncased models) lower-cases; XLNet's also turns `` and '' into ". After it, a piece that ends in a
digit and a comma is segmented again without the comma.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers

from albertine.errors import AlbertineError
from albertine.files import read_bytes
from albertine.tokenizer.guard import guarded
from albertine.tokenizer.parts import Parts, absent_notes, add_specials, present, set_layout
from albertine.tokenizer.sentencepiece import (
    CONTROL,
    NORMAL,
    UNKNOWN,
    UNUSED,
    USER_DEFINED,
    SentencePieceModel,
    parse_model,
)
from albertine.tokenizer.settings import Settings
from albertine.tokenizer.template import Style

SPACE = "▁"
PENALTY = 100.0
_ALBERT = {"pad": "<pad>", "unk": "<unk>", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_XLNET = {"pad": "<pad>", "unk": "<unk>", "cls": "<cls>", "sep": "<sep>", "mask": "<mask>"}


def read_unigram(path: Path, settings: Settings) -> Parts:
    """`spiece.model` → parts."""
    data = read_bytes(path)
    model = parse_model(data, str(path))
    vocab = {piece.text: index for index, piece in enumerate(model.pieces)}
    xlnet = "<cls>" in vocab
    style: Style = "xlnet" if xlnet else "bert"
    names = present({**(_XLNET if xlnet else _ALBERT), **settings.names}, vocab, ("unk", "cls", "sep"), str(path))
    notes = absent_notes(names)
    with guarded(str(path)):
        backend = Backend(models.Unigram(_scores(model), _unknown(model), model.byte_fallback))
        backend.normalizer = _normalizer(model, settings, xlnet=xlnet, notes=notes)
        backend.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(SPACE, "always", split=False)]
        )
        backend.decoder = decoders.Metaspace(SPACE, "always", split=False)
        add_specials(backend, [piece.text for piece in model.pieces if piece.kind in (CONTROL, UNKNOWN)])
        set_layout(backend, style, names)
    return Parts(
        backend=backend,
        kind="unigram",
        names=names,
        padding_side=settings.padding_side or ("left" if xlnet else "right"),
        max_length=settings.max_length,
        digit_comma_rule=settings.digit_comma_rule is not False,
        notes=notes,
        originals={"spiece.model": data},
    )


def digit_commas(backend: Backend, unk_id: int) -> dict[int, list[int]]:
    """What the rule for digits and commas puts in the place of each piece that it concerns."""
    vocab = backend.get_vocab()
    return {
        index: [vocab.get(piece, unk_id) for piece in _resegmented(backend, text)]
        for text, index in vocab.items()
        if ends_in_digit_comma(text)
    }


def ends_in_digit_comma(piece: str) -> bool:
    return len(piece) > 1 and piece[-1] == "," and piece[-2].isdigit()


def penalise_digit_commas(vocab: list[list[Any]]) -> None:
    """Make pieces that end in a digit and a comma too dear to use: nearly the rule, inside the model.

    Stock libraries know no rule after segmentation; so they agree on all but some lines in 10 000
    (benchmarks/tokenizer_parity.py).
    """
    for entry in vocab:
        if ends_in_digit_comma(entry[0]):
            entry[1] -= PENALTY


def restore_digit_commas(vocab: list[list[Any]], penalty: float) -> None:
    """Undo it to the bit: SentencePiece's scores are 32-bit numbers."""
    for entry in vocab:
        if ends_in_digit_comma(entry[0]):
            entry[1] = float(np.float32(entry[1] + penalty))


def _resegmented(backend: Backend, text: str) -> list[str]:
    pieces = backend.encode(text[:-1].replace(SPACE, ""), add_special_tokens=False).tokens
    if pieces and text[0] != SPACE:
        pieces = [pieces[0].removeprefix(SPACE), *pieces[1:]]
    return [piece for piece in pieces if piece] + [","]


def _unknown(model: SentencePieceModel) -> int:
    return next(index for index, piece in enumerate(model.pieces) if piece.kind == UNKNOWN)


def _scores(model: SentencePieceModel) -> list[tuple[str, float]]:
    """Pieces with scores; the model's own symbols get what SentencePiece gives them when it segments."""
    normal = [piece.score for piece in model.pieces if piece.kind == NORMAL]
    if not normal or any(piece.kind == UNUSED for piece in model.pieces):
        raise AlbertineError("a model without normal pieces, or with unused ones, is not supported")
    best = max(normal)
    return [
        (piece.text, len(piece.text) * best - 0.1 if piece.kind == USER_DEFINED else piece.score)
        for piece in model.pieces
    ]


def _normalizer(
    model: SentencePieceModel, settings: Settings, *, xlnet: bool, notes: list[str]
) -> normalizers.Normalizer:
    words = [piece.text for piece in model.pieces if piece.kind == NORMAL]
    steps: list[normalizers.Normalizer] = []
    if xlnet:
        steps += [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not _keeps_accents(settings, words, notes):
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if _lower_cases(settings, words, notes):
        steps.append(normalizers.Lowercase())
    if model.charsmap:
        steps.append(normalizers.Precompiled(model.charsmap))
    return normalizers.Sequence(steps)


def _keeps_accents(settings: Settings, words: list[str], notes: list[str]) -> bool:
    if settings.keep_accents is not None:
        return settings.keep_accents
    keeps = any(unicodedata.combining(c) for word in words for c in unicodedata.normalize("NFKD", word))
    notes.append(f"accents are {'kept' if keeps else 'dropped'}: the vocabulary has {'some' if keeps else 'none'}")
    return keeps


def _lower_cases(settings: Settings, words: list[str], notes: list[str]) -> bool:
    if settings.lower_case is not None:
        return settings.lower_case
    cased = any(re.search("[A-Z]", word) for word in words)
    notes.append(
        f"text is {'left in its case' if cased else 'lower-cased'}: the vocabulary has {'' if cased else 'no '}capitals"
    )
    return not cased
