"""GPT-2's byte-level BPE, and RoBERTa's ids for it.

fairseq renumbers GPT-2's symbols: `dict.txt` lists GPT-2 ids in RoBERTa's order, after four special
symbols and before `<mask>`.
"""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers

from albertine.errors import AlbertineError
from albertine.files import read_bytes, read_json, read_lines
from albertine.tokenizer.fairseq import NAMES, read_dict
from albertine.tokenizer.guard import guarded
from albertine.tokenizer.parts import Parts, absent_notes, add_specials, present, set_layout
from albertine.tokenizer.settings import Settings


def read_bpe(vocab_path: Path, merges_path: Path, dict_path: Path | None, settings: Settings) -> Parts:
    """`vocab.json` + `merges.txt`, or `encoder.json` + `vocab.bpe`, with fairseq's `dict.txt` or without."""
    vocab = _vocab(vocab_path)
    if dict_path is not None:
        vocab = _renumbered(vocab, read_dict(dict_path), vocab_path, dict_path)
    names = present({**NAMES, **settings.names}, vocab, (), str(vocab_path))
    unk = names.get("unk")
    with guarded(f"{vocab_path}, {merges_path.name}"):
        backend = Backend(models.BPE(vocab=vocab, merges=_merges(merges_path), unk_token=unk))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        backend.decoder = decoders.ByteLevel()
        if names:
            add_specials(backend, sorted(set(names.values()), key=vocab.__getitem__), greedy_left=names.get("mask"))
        if "cls" in names and "sep" in names:
            set_layout(backend, "roberta", names)
    originals = {path.name: read_bytes(path) for path in (vocab_path, merges_path)}
    if dict_path is not None:
        originals["dict.txt"] = read_bytes(dict_path)
    return Parts(
        backend=backend,
        kind="bpe",
        names=names,
        padding_side=settings.padding_side or "right",
        max_length=settings.max_length,
        notes=absent_notes(names),
        originals=originals,
    )


def _vocab(path: Path) -> dict[str, int]:
    vocab = read_json(path)
    for token, index in vocab.items():
        if not isinstance(index, int) or isinstance(index, bool) or not 0 <= index < 2**32:
            raise AlbertineError(f"{path}: the id of {token[:40]!r} is {str(index)[:40]!r}")
    if len(set(vocab.values())) != len(vocab):
        raise AlbertineError(f"{path}: two tokens share an id")
    return vocab


def _merges(path: Path) -> list[tuple[str, str]]:
    """Pairs of symbols, best first; the first line is a version."""
    merges: list[tuple[str, str]] = []
    for number, line in enumerate(read_lines(path), start=1):
        pair = line.rstrip("\r").split(" ")
        if (number == 1 and line.startswith("#version")) or not line.strip():
            continue
        if len(pair) != 2:
            raise AlbertineError(f"{path}: line {number} is not a pair of symbols")
        merges.append((pair[0], pair[1]))
    return merges


def _renumbered(vocab: dict[str, int], symbols: dict[str, int], vocab_path: Path, dict_path: Path) -> dict[str, int]:
    tokens = {str(index): token for token, index in vocab.items()}
    missing = len(tokens.keys() - symbols.keys())
    if missing:
        raise AlbertineError(f"{dict_path}: {missing} of the {len(tokens)} symbols of {vocab_path.name} are not in it")
    renumbered = {tokens.get(symbol, symbol): index for symbol, index in symbols.items()}
    if len(renumbered) != len(symbols):
        raise AlbertineError(f"{dict_path}: two symbols stand for one token of {vocab_path.name}")
    return renumbered
