"""Any known checkpoint, recognised by what it is and not by what it is called."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from albertine.errors import AlbertineError
from albertine.files import read_json
from albertine.interchange.checkpoint import Checkpoint
from albertine.interchange.fairseq import is_fairseq, read_fairseq
from albertine.interchange.folder import MANIFEST, read_folder
from albertine.interchange.google import read_google
from albertine.interchange.huggingface.read import read_huggingface
from albertine.interchange.pickle_file import read_pickle
from albertine.interchange.pooling import read_pooling
from albertine.interchange.unilm import UNILM_SEGMENTS, is_bert_like, read_unilm


def read_checkpoint(path: Path, overrides: Mapping[str, Any] | None = None) -> Checkpoint:
    """The checkpoint at a folder, a file, or a TensorFlow prefix; `overrides` correct its config."""
    overrides = overrides or {}
    if path.is_dir():
        return _folder(path, overrides)
    if prefix := _tensorflow_prefix(path):
        return read_google(prefix, overrides)
    if not path.is_file():
        raise AlbertineError(f"{path}: no such file or directory")
    if path.name in (*_USUAL, "config.json", MANIFEST) and _is_huggingface(path.parent):
        return _folder(path.parent, overrides)
    if path.suffix in (".bin", ".pt", ".pth"):
        return _pickle(path, overrides)
    raise AlbertineError(f"{path}: not a checkpoint that is known (folder, .index, .bin, .pt)")


def _folder(folder: Path, overrides: Mapping[str, Any]) -> Checkpoint:
    if (folder / MANIFEST).is_file():
        if overrides:
            raise AlbertineError(f"{folder / MANIFEST}: says exactly what this encoder is; nothing to correct")
        return read_folder(folder)
    if _is_huggingface(folder):
        return read_huggingface(folder, overrides)
    if _is_huggingface(folder / "0_Transformer"):  # where sentence-transformers used to keep the encoder
        checkpoint = read_huggingface(folder / "0_Transformer", overrides)
        checkpoint.pooling = read_pooling(folder)
        return checkpoint
    indexes = sorted([*folder.glob("*.index"), *folder.glob("variables/variables.index")])
    if len(indexes) == 1:
        return read_google(indexes[0].with_suffix(""), overrides)
    if len(indexes) > 1:
        raise AlbertineError(f"{folder}: several checkpoints ({_listed(indexes)}); name one of them")
    pickles = sorted([*folder.glob("*.pt"), *folder.glob("*.bin")])
    if len(pickles) == 1:
        return _pickle(pickles[0], overrides)
    if len(pickles) > 1:
        raise AlbertineError(f"{folder}: several checkpoints ({_listed(pickles)}); name one of them")
    raise AlbertineError(f"{folder}: no checkpoint that is known (Hugging Face, TensorFlow 1, fairseq, UniLM)")


def _is_huggingface(folder: Path) -> bool:
    """A config.json that names its model, or one from before configs did, beside weights of the usual name."""
    if not (folder / "config.json").is_file():
        return False
    options = read_json(folder / "config.json")
    if "model_type" in options:
        return True
    return options.get("type_vocab_size") != UNILM_SEGMENTS and any((folder / name).is_file() for name in _USUAL)


_USUAL = (
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
)


def _listed(files: list[Path]) -> str:
    return ", ".join(file.name for file in files[:5]) + (", …" if len(files) > 5 else "")


def _tensorflow_prefix(path: Path) -> Path | None:
    """`model.ckpt`, `model.ckpt.index` and `model.ckpt.data-00000-of-00001` all mean the same checkpoint."""
    name = path.name
    if name.endswith(".index"):
        path = path.with_name(name.removesuffix(".index"))
    elif ".data-" in name or name.endswith(".meta"):
        path = path.with_name(name.split(".data-")[0].removesuffix(".meta"))
    return path if Path(f"{path}.index").is_file() else None


def _pickle(file: Path, overrides: Mapping[str, Any]) -> Checkpoint:
    value = read_pickle(file)
    if is_fairseq(value):
        return read_fairseq(file, value, overrides)
    if is_bert_like(value):
        return read_unilm(file, value, overrides)
    first = next(iter(value), "nothing")
    raise AlbertineError(f"{file}: no layout that is known (its first key is {str(first)[:60]!r})")
