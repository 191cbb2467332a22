"""Hugging Face directories: safetensors (whole or sharded) or `pytorch_model.bin`, older key layouts included."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from albertine.errors import AlbertineError, about
from albertine.files import read_json
from albertine.interchange.checkpoint import Checkpoint, assemble, check
from albertine.interchange.huggingface.config_json import FAMILIES, Heads, read_config
from albertine.interchange.huggingface.names import PREFIX, Family, Names, names
from albertine.interchange.pickle_file import read_pickle, tensors_of
from albertine.interchange.pooling import read_pooling
from albertine.interchange.safetensors_file import read_safetensors
from albertine.interchange.tensors import Lazy

_BUFFERS = ("position_ids", "token_type_ids")
_TIED = ("predictions.decoder.weight", "lm_head.decoder.weight", "decoder.bias")  # once more what is read already
_HEADS = (
    "predictions.",
    "sop_classifier.",
    "cls.",
    "lm_head.",
    "classifier.",
    "qa_outputs.",
    "seq_relationship.",
)


def read_huggingface(folder: Path, overrides: Mapping[str, Any]) -> Checkpoint:
    """A directory that `transformers` wrote, or one of its many imitators."""
    config_file = folder / "config.json"
    options, raw = read_json(config_file), read_weights(folder)
    if "model_type" not in options:
        options["model_type"] = _kind_by_names(raw)
    family = FAMILIES.get(str(options["model_type"]))
    tensors = modern(raw, family)
    heads = Heads(set(tensors), tied=_tied(tensors, family, options))
    with about(config_file):
        config = read_config(options, str(config_file), heads).with_(**overrides)
    assert family is not None  # read_config refuses unknown model types
    table = names(family, config)
    left_out = leftovers(tensors, table, PREFIX[family], str(config_file))
    checkpoint = Checkpoint(
        config,
        assemble(tensors, table),
        f"Hugging Face, {options['model_type']}",
        folder,
        folder,
        read_pooling(folder),
        left_out=left_out,
    )
    return check(checkpoint, table, str(config_file))


def leftovers(tensors: Mapping[str, Lazy], table: Names, prefix: str, config_file: str) -> list[str]:
    """What the encoder has no place for. Heads of other tasks may be left out; a part of the body may not."""
    found = [n for n in tensors if n not in table and not n.endswith((*_BUFFERS, *_TIED))]
    for name in found:
        if name.startswith(prefix) and not name.startswith(f"{prefix}pooler"):
            raise AlbertineError(f"{tensors[name].origin}: present, though {config_file} leaves no place for it")
    return found


def _kind_by_names(tensors: Mapping[str, Lazy]) -> str | None:
    """Configs before transformers 2.3 do not say which model they describe; the tensors' names do."""
    if any("albert_layer_groups" in name for name in tensors):
        return "albert"
    if any(name.startswith(("roberta.", "lm_head.")) for name in tensors):
        return "roberta"
    return "bert" if any("encoder.layer.0.attention.self.query" in name for name in tensors) else None


def read_weights(folder: Path) -> dict[str, Lazy]:
    """All tensors of the directory, under the names they have there."""
    for index in ("model.safetensors.index.json", "pytorch_model.bin.index.json"):
        if (folder / index).is_file():
            return _sharded(folder, folder / index)
    for name in ("model.safetensors", "pytorch_model.bin"):
        if (folder / name).is_file():
            return _one_file(folder / name)
    raise AlbertineError(f"{folder}: no model.safetensors and no pytorch_model.bin")


def _one_file(file: Path) -> dict[str, Lazy]:
    if file.suffix == ".safetensors":
        return read_safetensors(file)
    value = read_pickle(file)
    return tensors_of(value.get("state_dict", value) if isinstance(value.get("state_dict"), dict) else value, file)


def _sharded(folder: Path, index: Path) -> dict[str, Lazy]:
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise AlbertineError(f"{index}: has no weight_map")
    shards: dict[str, dict[str, Lazy]] = {}
    for shard in sorted({str(value) for value in places.values()}):
        if Path(shard).name != shard or shard in ("", ".", ".."):
            raise AlbertineError(f"{index}: {shard!r} leads out of the directory")
        if not (folder / shard).is_file():
            raise AlbertineError(f"{folder / shard}: missing, though {index.name} refers to it")
        shards[shard] = _one_file(folder / shard)
    for name, shard in places.items():
        if name not in shards[shard]:
            raise AlbertineError(f"{folder / shard}: {name} is missing, though {index.name} places it there")
    return {name: shards[shard][name] for name, shard in places.items()}


def modern(tensors: dict[str, Lazy], family: Family | None) -> dict[str, Lazy]:
    """Today's spelling: no DataParallel prefix, `weight` and `bias` for gamma and beta, the family's prefix."""
    prefix = PREFIX[family] if family else ""
    renamed: dict[str, Lazy] = {}
    for name, lazy in tensors.items():
        new = re.sub(r"^module\.", "", name)
        new = re.sub(r"\.gamma$", ".weight", re.sub(r"\.beta$", ".bias", new))
        if prefix and not new.startswith((prefix, *_HEADS)):
            new = prefix + new
        renamed[new] = lazy
    for head in ("predictions", "cls.predictions", "lm_head"):
        if f"{head}.decoder.bias" in renamed:
            renamed.setdefault(f"{head}.bias", renamed[f"{head}.decoder.bias"])
    return renamed


def _tied(tensors: dict[str, Lazy], family: Family | None, options: Mapping[str, Any]) -> bool:
    """A decoder that is absent, or the word table once more, is tied: the file knows better than the config."""
    decoder = next(
        (t for n, t in tensors.items() if n.endswith(("predictions.decoder.weight", "lm_head.decoder.weight"))),
        None,
    )
    word = tensors.get(f"{PREFIX[family]}embeddings.word_embeddings.weight") if family else None
    if decoder is None or word is None:
        return True
    if options.get("tie_word_embeddings", True):
        # transformers ties whatever the file says; a differing decoder there is never used.
        return True
    return decoder.shape == word.shape and torch.equal(decoder.read(), word.read())
