"""Vocabularies that are looked up whole: fairseq's dictionaries, and tokens cut by one pattern."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Regex, models, pre_tokenizers
from tokenizers import Tokenizer as Backend

from albertine.errors import AlbertineError
from albertine.files import read_bytes
from albertine.tokenizer.fairseq import NAMES as FAIRSEQ_NAMES
from albertine.tokenizer.fairseq import read_dict
from albertine.tokenizer.guard import guarded
from albertine.tokenizer.parts import Parts, absent_notes, add_specials, present, set_layout
from albertine.tokenizer.patterns import harmless
from albertine.tokenizer.settings import Settings
from albertine.tokenizer.template import Style
from albertine.tokenizer.wordpiece import NAMES as BERT_NAMES
from albertine.tokenizer.wordpiece import read_vocab

_ONE_CHARACTER = "."


def read_fairseq(path: Path, settings: Settings) -> Parts:
    """`dict.txt` alone: symbols stand between spaces, or side by side where all are single characters."""
    vocab = read_dict(path)
    names = present({**FAIRSEQ_NAMES, **settings.names}, vocab, ("unk", "cls", "sep"), str(path))
    _refuse_pieces(path, [symbol for symbol in vocab if symbol not in FAIRSEQ_NAMES.values()])
    single = all(len(symbol) == 1 for symbol in vocab if symbol not in FAIRSEQ_NAMES.values())
    parts = _parts(path, vocab, names, settings, "roberta", _ONE_CHARACTER if single else None)
    parts.originals = {"dict.txt": read_bytes(path)}
    parts.notes = [
        f"symbols are {'single characters' if single else 'set off by spaces'}",
        *absent_notes(names),
    ]
    return parts


def _refuse_pieces(path: Path, symbols: list[str]) -> None:
    """Dictionaries over another tokenizer's pieces say nothing without that tokenizer."""
    if sum(symbol.isdecimal() for symbol in symbols) > len(symbols) / 2 and len(symbols) > 1000:
        raise AlbertineError(f"{path}: its symbols are GPT-2's ids; put encoder.json and vocab.bpe beside it")
    if any(symbol.startswith("▁") for symbol in symbols):
        raise AlbertineError(f"{path}: its symbols are SentencePiece's pieces; that tokenizer is not supported yet")


def read_pattern(path: Path, pattern: str, settings: Settings) -> Parts:
    """`vocab.txt` whose tokens are the matches of a regular expression; what lies between them is unknown."""
    vocab, notes = read_vocab(path)
    names = present({**BERT_NAMES, **settings.names}, vocab, ("unk", "cls", "sep"), str(path))
    parts = _parts(path, vocab, names, settings, "bert", pattern)
    parts.originals = {"vocab.txt": read_bytes(path)}
    parts.notes = [*notes, *absent_notes(names)]
    if not harmless(pattern):
        parts.notes.append("the pattern is not plain: a saved copy loads with trust=True only")
    return parts


def _parts(
    path: Path,
    vocab: dict[str, int],
    names: dict[str, str],
    settings: Settings,
    style: Style,
    pattern: str | None,
) -> Parts:
    with guarded(str(path)):
        backend = Backend(models.WordLevel(vocab, unk_token=names["unk"]))
        steps: list[pre_tokenizers.PreTokenizer] = [pre_tokenizers.WhitespaceSplit()]
        if pattern is not None:
            steps.append(pre_tokenizers.Split(Regex(pattern), "isolated"))
        backend.pre_tokenizer = pre_tokenizers.Sequence(steps)
        add_specials(backend, sorted(set(names.values()), key=vocab.__getitem__))
        set_layout(backend, style, names)
    return Parts(
        backend=backend,
        kind="wordlevel",
        names=names,
        padding_side=settings.padding_side or "right",
        max_length=settings.max_length,
    )
