"""What every reader hands over: a tokenizer of the library, and what it cannot say about itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from tokenizers import AddedToken
from tokenizers import Tokenizer as Backend

from albertine.errors import AlbertineError
from albertine.tokenizer.batch import Side
from albertine.tokenizer.settings import ROLES
from albertine.tokenizer.template import Style, processor

Kind = Literal["unigram", "wordpiece", "bpe", "wordlevel"]


@dataclass(kw_only=True)
class Parts:
    """The makings of a `Tokenizer`."""

    backend: Backend
    kind: Kind
    names: dict[str, str]  # role → token, for the roles that this vocabulary has
    padding_side: Side = "right"
    max_length: int | None = None
    digit_comma_rule: bool = False
    notes: list[str] = field(default_factory=list)
    originals: dict[str, bytes] = field(default_factory=dict)  # file name → the file that was read


def present(names: dict[str, str], vocab: dict[str, int], required: tuple[str, ...], what: str) -> dict[str, str]:
    """The special tokens that the vocabulary has; the required ones may not be missing."""
    for role in required:
        if names.get(role) not in vocab:
            token = names.get(role)
            raise AlbertineError(f"{what}: the {role} token {token!r} is not in the vocabulary")
    return {role: names[role] for role in ROLES if names.get(role) in vocab}


def absent_notes(names: dict[str, str]) -> list[str]:
    """Say which of the special tokens cannot be had."""
    return [f"no {role} token in the vocabulary" for role in ROLES if role not in names]


def add_specials(backend: Backend, tokens: list[str], *, greedy_left: str | None = None) -> None:
    """Let special tokens be recognised in text; `greedy_left` also takes the space before it."""
    backend.add_special_tokens([AddedToken(t, special=True, normalized=False, lstrip=t == greedy_left) for t in tokens])


def set_layout(backend: Backend, style: Style, names: dict[str, str]) -> None:
    """Give a tokenizer the published places of its special tokens."""
    vocab = backend.get_vocab()
    cls, sep = names["cls"], names["sep"]
    backend.post_processor = processor(style, (cls, vocab[cls]), (sep, vocab[sep]))
