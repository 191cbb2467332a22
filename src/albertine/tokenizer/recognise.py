"""Which of the published tokenizer formats lies at a path."""

from __future__ import annotations

from pathlib import Path

from albertine.errors import AlbertineError
from albertine.tokenizer.bpe import read_bpe
from albertine.tokenizer.parts import Parts
from albertine.tokenizer.serialized import read_serialized
from albertine.tokenizer.settings import Settings, read_settings
from albertine.tokenizer.unigram import read_unigram
from albertine.tokenizer.wordlevel import read_fairseq
from albertine.tokenizer.wordpiece import read_wordpiece

_BPE_FILES = (("vocab.json", "merges.txt"), ("encoder.json", "vocab.bpe"))


def lies_in(folder: Path) -> bool:
    """Whether a folder holds any tokenizer at all; whether it can be read is `read_parts`'s to say."""
    known = ("tokenizer.json", "spiece.model", "vocab.txt", "merges.txt", "vocab.bpe")
    return any((folder / name).is_file() for name in known) or any(folder.glob("dict*.txt"))


def read_parts(path: Path, *, trust: bool) -> Parts:
    """Read a folder, or one file of it with what lies beside that."""
    if path.is_dir():
        return _read_folder(path, read_settings(path), trust=trust)
    if not path.is_file():
        raise AlbertineError(f"{path}: no such file or folder")
    return _read_file(path, read_settings(path.parent), trust=trust)


def _read_folder(folder: Path, settings: Settings, *, trust: bool) -> Parts:
    if (folder / "tokenizer.json").is_file():
        return read_serialized(folder / "tokenizer.json", settings, trust=trust)
    if (folder / "spiece.model").is_file():
        return read_unigram(folder / "spiece.model", settings)
    if (folder / "vocab.txt").is_file():
        return read_wordpiece(folder / "vocab.txt", settings)
    dictionaries = sorted(folder.glob("dict*.txt"))
    if len(dictionaries) > 1:
        raise AlbertineError(f"{folder}: {dictionaries[0].name} and {dictionaries[1].name}; name the one to read")
    dictionary = dictionaries[0] if dictionaries else None
    for vocab, merges in _BPE_FILES:
        if (folder / vocab).is_file() and (folder / merges).is_file():
            renumbering = dictionary if vocab == "encoder.json" else None
            return read_bpe(folder / vocab, folder / merges, renumbering, settings)
    if dictionary is not None:
        return read_fairseq(dictionary, settings)
    raise AlbertineError(
        f"{folder}: no tokenizer found (tokenizer.json, spiece.model, vocab.txt, vocab.json + merges.txt, "
        "encoder.json + vocab.bpe + dict.txt, or dict.txt)"
    )


def _read_file(path: Path, settings: Settings, *, trust: bool) -> Parts:
    for pair in _BPE_FILES:
        if path.name in pair:
            dictionaries = sorted(path.parent.glob("dict*.txt")) if pair[0] == "encoder.json" else []
            dictionary = dictionaries[0] if len(dictionaries) == 1 else None
            return read_bpe(path.parent / pair[0], path.parent / pair[1], dictionary, settings)
    if path.suffix == ".json":
        return read_serialized(path, settings, trust=trust)
    if path.suffix == ".model":
        return read_unigram(path, settings)
    if path.suffix == ".txt":
        return read_fairseq(path, settings) if path.name.startswith("dict") else read_wordpiece(path, settings)
    raise AlbertineError(f"{path}: a tokenizer's file ends in .json, .model, .txt or .bpe")
