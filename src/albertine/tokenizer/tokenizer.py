"""One tokenizer for every published format.

tokenizer = Tokenizer.load("albert-base-v2")      # a folder, or one of its files
tokenizer.encode("The [MASK] of 3.0, again")
tokenizer.batch(texts, max_length=128).ids_BT
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tokenizers import Tokenizer as Backend

from albertine.errors import AlbertineError
from albertine.tokenizer.batch import Batch, Side, assemble
from albertine.tokenizer.guard import guarded
from albertine.tokenizer.parts import Kind, Parts
from albertine.tokenizer.recognise import lies_in, read_parts
from albertine.tokenizer.saving import write_tokenizer
from albertine.tokenizer.settings import read_settings
from albertine.tokenizer.template import read_template
from albertine.tokenizer.unigram import digit_commas
from albertine.tokenizer.wordlevel import read_pattern


class Tokenizer:
    """Text → ids as the original tokenizer gives them; `notes` says what had to be guessed."""

    def __init__(self, parts: Parts, what: str) -> None:
        self.backend: Backend = parts.backend
        self.kind: Kind = parts.kind
        self.names = parts.names
        self.padding_side: Side = parts.padding_side
        self.max_length = parts.max_length
        self.notes = parts.notes
        self.digit_comma_rule = parts.digit_comma_rule
        self._what = what
        self._originals = parts.originals
        with guarded(what):
            self._ids = self.backend.get_vocab()
            self._template = read_template(json.loads(self.backend.to_str()).get("post_processor"), what)
            has_rule = self.kind == "unigram" and parts.digit_comma_rule
            self._digit_commas = digit_commas(self.backend, self._ids[self.names["unk"]]) if has_rule else {}

    @staticmethod
    def load(path: str | Path, *, trust: bool = False) -> Tokenizer:
        """Recognise and read a folder or a file; `trust` allows any pattern in a `tokenizer.json`."""
        return Tokenizer(read_parts(Path(path), trust=trust), str(path))

    @staticmethod
    def lies_in(folder: str | Path) -> bool:
        """Whether a folder holds a tokenizer of any known format."""
        return lies_in(Path(folder))

    @staticmethod
    def from_pattern(vocab_file: str | Path, pattern: str) -> Tokenizer:
        """Tokens are what a regular expression matches; each is looked up whole in `vocab_file`."""
        path = Path(vocab_file)
        return Tokenizer(read_pattern(path, pattern, read_settings(path.parent)), str(path))

    @property
    def vocab_size(self) -> int:
        """One more than the largest id: the rows that an embedding table needs."""
        return max(self._ids.values()) + 1

    @property
    def pad_id(self) -> int | None:
        return self._role("pad")

    @property
    def unk_id(self) -> int | None:
        return self._role("unk")

    @property
    def cls_id(self) -> int | None:
        return self._role("cls")

    @property
    def sep_id(self) -> int | None:
        return self._role("sep")

    @property
    def mask_id(self) -> int | None:
        return self._role("mask")

    @property
    def uses_segments(self) -> bool:
        """Whether the two texts of a pair get different token types."""
        return self._template.uses_segments

    def encode(self, text: str, pair: str | None = None, *, specials: bool = True) -> list[int]:
        """Token ids of a text or a pair, never cut."""
        first, *second = self._segment([text] if pair is None else [text, pair])
        if not specials:
            return first + [token for tokens in second for token in tokens]
        return self._template.fill(first, second[0] if second else None)[0]

    def batch(
        self,
        texts: Sequence[str],
        *,
        pairs: Sequence[str] | None = None,
        max_length: int = 512,
        pad_to: int | None = None,
    ) -> Batch:
        """Padded arrays; texts beyond `max_length` tokens are cut at the end, and counted."""
        if pairs is not None and len(pairs) != len(texts):
            raise AlbertineError(f"{len(texts)} texts and {len(pairs)} pairs: as many are needed")
        return assemble(
            self._template,
            self._segment(texts),
            None if pairs is None else self._segment(pairs),
            max_length=max_length,
            pad_to=pad_to,
            pad_id=self.pad_id,
            side=self.padding_side,
        )

    def decode(self, ids: Sequence[int], *, specials: bool = False) -> str:
        """Text again; special tokens are left out unless asked for."""
        with guarded(self._what):
            return self.backend.decode([int(token) for token in ids], skip_special_tokens=not specials)

    def token(self, id: int) -> str | None:
        """The token with this id, or None."""
        with guarded(self._what):
            return self.backend.id_to_token(int(id))

    def id(self, token: str) -> int | None:
        """The id of this token, or None."""
        return self._ids.get(token)

    def save(self, folder: str | Path, *, longest: int | None = None) -> list[str]:
        """Write what `AutoTokenizer.from_pretrained` needs, and the original files; returns their names.

        `longest` is what the encoder can read, in tokens: stock pipelines cut there.

        The rule for digits and commas is no part of `tokenizer.json`: scores come close to it there, and
        are put back when the folder is loaded here, where the rule itself is at work.
        """
        return write_tokenizer(
            Path(folder),
            self.backend,
            self.names,
            originals=self._originals,
            padding_side=self.padding_side,
            max_length=min((n for n in (self.max_length, longest) if n), default=None),
            uses_segments=self.uses_segments,
            digit_comma_rule=self.digit_comma_rule and self.kind == "unigram",
        )

    def _segment(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids without special tokens; the rule for digits and commas is applied here."""
        if isinstance(texts, str):
            raise AlbertineError("a list of texts is needed, not one text")
        with guarded(f"{self._what}: the text cannot be segmented"):
            rows = [e.ids for e in self.backend.encode_batch_fast(list(texts), add_special_tokens=False)]
        if not (self._digit_commas and self.digit_comma_rule):
            return rows
        concerned = self._digit_commas
        return [
            row if concerned.keys().isdisjoint(row) else [token for old in row for token in concerned.get(old, (old,))]
            for row in rows
        ]

    def _role(self, role: str) -> int | None:
        name = self.names.get(role)
        return None if name is None else self._ids.get(name)
