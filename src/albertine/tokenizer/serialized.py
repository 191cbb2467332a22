"""`tokenizer.json`, the library's own form, from anybody."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast, get_args

from tokenizers import Tokenizer as Backend

from albertine.errors import AlbertineError
from albertine.files import read_bytes, read_json
from albertine.tokenizer.guard import guarded
from albertine.tokenizer.parts import Kind, Parts, absent_notes, present
from albertine.tokenizer.settings import ROLES, Settings
from albertine.tokenizer.unigram import restore_digit_commas
from albertine.tokenizer.untrusted import check_untrusted

# Originals that our own folders carry along, kept when such a folder is read and written again.
_ORIGINALS = (
    "spiece.model",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "encoder.json",
    "vocab.bpe",
    "dict.txt",
)
_USUAL = {
    "pad": ("[PAD]", "<pad>"),
    "unk": ("[UNK]", "<unk>"),
    "cls": ("[CLS]", "<cls>", "<s>"),
    "sep": ("[SEP]", "<sep>", "</s>"),
    "mask": ("[MASK]", "<mask>"),
}


def read_serialized(path: Path, settings: Settings, *, trust: bool) -> Parts:
    """`tokenizer.json` → parts; patterns that may take exponential time need `trust`."""
    value = read_json(path)
    if not trust:
        check_untrusted(value, str(path))
    notes = _made_deterministic(value)
    if settings.digit_comma_penalty is not None:
        _restore(value, settings.digit_comma_penalty, path)
    with guarded(str(path)):
        backend = Backend.from_str(json.dumps(value))
        kind = type(backend.model).__name__.lower()
        vocab = backend.get_vocab()
    if kind not in get_args(Kind):
        raise AlbertineError(f"{path}: models of the kind {kind!r} are not supported")
    unk = getattr(backend.model, "unk_token", None)
    if not vocab or (unk is not None and unk not in vocab):
        raise AlbertineError(f"{path}: its vocabulary is empty, or lacks its unknown token {unk!r}")
    # An ALBERT folder of transformers has both files; the original applies the rule, transformers 5 dropped it.
    original = kind == "unigram" and (path.parent / "spiece.model").is_file()
    rule = (settings.digit_comma_penalty is not None or original) and settings.digit_comma_rule is not False
    if rule and settings.digit_comma_penalty is None:
        notes.append("a comma after a digit is split off, as the original tokenizer does (transformers 5 does not)")
    required = (*settings.names, *(["unk"] if rule else []))
    names = present({**_usual_names(vocab), **settings.names}, vocab, required, str(path))
    return Parts(
        backend=backend,
        kind=cast(Kind, kind),
        names=names,
        padding_side=settings.padding_side or "right",
        max_length=settings.max_length,
        digit_comma_rule=rule,
        notes=[*notes, *absent_notes(names)],
        originals={n: read_bytes(path.parent / n) for n in _ORIGINALS if (path.parent / n).is_file()},
    )


def _restore(value: dict[str, Any], penalty: float, path: Path) -> None:
    """The scores as they were before a folder of ours was written for stock libraries."""
    try:
        restore_digit_commas(value["model"]["vocab"], penalty)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise AlbertineError(f"{path}: has no scored pieces, though a digit_comma_penalty is set") from error


def _made_deterministic(value: dict[str, Any]) -> list[str]:
    """Drop what our own code does (padding, truncation) and what makes ids random (BPE dropout)."""
    value["padding"] = value["truncation"] = None
    model = value.get("model")
    if isinstance(model, dict) and model.get("dropout"):
        model["dropout"] = None
        return ["BPE dropout in tokenizer.json is not used"]
    return []


def _usual_names(vocab: dict[str, int]) -> dict[str, str]:
    found = {role: next((t for t in _USUAL[role] if t in vocab), None) for role in ROLES}
    return {role: token for role, token in found.items() if token is not None}
