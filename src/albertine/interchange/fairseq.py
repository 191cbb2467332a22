"""fairseq's RoBERTa checkpoints (`.pt`), old and new key layouts, without fairseq.

The settings lie in the checkpoint itself, as an argparse namespace (`args`) or a nested dictionary
(`cfg`). Everything but the model is left alone: optimiser state, counters, history.
"""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from albertine.config import Activation, EncoderConfig
from albertine.errors import AlbertineError, about
from albertine.files import choice, number, whole
from albertine.interchange.checkpoint import Checkpoint, Slot, assemble, check
from albertine.interchange.pickle_file import tensors_of
from albertine.interchange.tensors import Lazy
from albertine.sharing import MOST, Sharing

_ACTIVATIONS: dict[str, Activation] = {
    "gelu": "gelu_erf",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "relu": "relu",
    "swish": "swish",
}
_PAD = 1  # fairseq dictionaries begin with <s>, <pad>, </s>, <unk>
_BODY = re.compile(r"^(?:module\.)?(?:encoder|decoder)\.(?:sentence_encoder\.)?")
_FFN = {"fc1": "inner", "fc2": "outer", "final_layer_norm": "norm"}
_HEADS = {"dense": "mlm.dense", "layer_norm": "mlm.norm"}


def is_fairseq(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("model"), dict) and ("args" in value or "cfg" in value)


def read_fairseq(file: Path, value: dict[str, Any], overrides: Mapping[str, Any]) -> Checkpoint:
    """A checkpoint that `read_pickle` opened."""
    tensors = tensors_of(value["model"], file)
    slots = {name: slot for name in tensors if (slot := place(name))}
    with about(file):
        config = _config(_settings(value, file), tensors, slots, file).with_(**overrides)
    if config.mlm_tied:
        slots = {name: slot for name, slot in slots.items() if slot.ours != "mlm.decoder.weight"}
    skipped = re.compile(r"(version|_float_tensor|embed_positions\._float_tensor|lm_head\.weight)$")
    left_out = [name for name in tensors if name not in slots and not skipped.search(name)]
    checkpoint = Checkpoint(
        config, assemble(tensors, slots), "fairseq, RoBERTa", file, _vocabulary(file), left_out=left_out
    )
    return check(checkpoint, slots, str(file))


def place(name: str) -> Slot | None:
    """Which of our tensors a fairseq parameter is."""
    below = _BODY.sub("", name)
    if match := re.fullmatch(r"layers\.(\d+)\.(.+)\.(weight|bias)", below):
        return _layer(match[1], match[2], match[3])
    if match := re.fullmatch(r"layers\.(\d+)\.self_attn\.in_proj_(weight|bias)", below):
        return Slot(f"attention.{match[1]}.qkv.{match[2]}")
    if below in ("embed_tokens.weight", "embed_positions.weight", "segment_embeddings.weight"):
        kind = {"embed_tokens": "word", "embed_positions": "position", "segment_embeddings": "segment"}
        return Slot(f"embeddings.{kind[below.split('.')[0]]}.weight")
    if match := re.fullmatch(r"(?:emb_layer_norm|layernorm_embedding)\.(weight|bias)", below):
        return Slot(f"embeddings.norm.{match[1]}")
    if match := re.fullmatch(r"lm_head\.(dense|layer_norm)\.(weight|bias)", below):
        return Slot(f"{_HEADS[match[1]]}.{match[2]}")
    return {"lm_head.bias": Slot("mlm.bias"), "lm_head.weight": Slot("mlm.decoder.weight")}.get(below)


def _layer(layer: str, module: str, leaf: str) -> Slot | None:
    parts = {"self_attn.q_proj": 0, "self_attn.k_proj": 1, "self_attn.v_proj": 2}
    if module in parts:
        return Slot(f"attention.{layer}.qkv.{leaf}", parts[module])
    if module == "self_attn.out_proj":
        return Slot(f"attention.{layer}.output.{leaf}")
    if module == "self_attn_layer_norm":
        return Slot(f"attention.{layer}.norm.{leaf}")
    return Slot(f"ffn.{layer}.{_FFN[module]}.{leaf}") if module in _FFN else None


def _settings(value: dict[str, Any], file: Path) -> dict[str, Any]:
    settings = value.get("args") or value.get("cfg")
    if isinstance(settings, dict):
        settings = settings.get("model", settings)
    if isinstance(settings, Namespace):
        return vars(settings)
    if isinstance(settings, dict):
        return settings
    raise AlbertineError(f"{file}: neither args nor cfg tells the model's settings")


def _config(
    settings: dict[str, Any], tensors: Mapping[str, Lazy], slots: Mapping[str, Slot], file: Path
) -> EncoderConfig:
    ours = {slot.ours: tensors[name] for name, slot in slots.items()}
    for name in ("embeddings.word.weight", "embeddings.position.weight"):
        if name not in ours or len(ours[name].shape) != 2:
            raise AlbertineError(f"{file}: no {name.split('.')[1]} embedding; not a RoBERTa of fairseq's")
    if settings.get("encoder_normalize_before"):
        raise AlbertineError(f"{file}: encoder_normalize_before is set; only RoBERTa's post-LN graph is read")
    activation = choice(settings, "activation_fn", str(file), _ACTIVATIONS, "gelu")
    word = ours["embeddings.word.weight"]
    hidden = whole(settings, "encoder_embed_dim", str(file), word.shape[1])
    segments = ours.get("embeddings.segment.weight")
    return EncoderConfig(
        vocab_size=word.shape[0],
        embedding_size=hidden,
        hidden_size=hidden,
        num_layers=whole(settings, "encoder_layers", str(file), most=MOST),
        num_heads=whole(settings, "encoder_attention_heads", str(file)),
        intermediate_size=whole(settings, "encoder_ffn_embed_dim", str(file)),
        max_positions=ours["embeddings.position.weight"].shape[0] - _PAD - 1,
        num_types=segments.shape[0] if segments else 0,
        sharing=Sharing("none"),
        activation=activation,
        mlm_activation=activation,
        projection="none",
        norm_eps=1e-5,
        pooler=False,
        pair_head=False,
        mlm_head="embedding" if "mlm.bias" in ours else "none",
        mlm_tied=_tied(ours),
        pad_id=_PAD,
        first_position=_PAD + 1,
        hidden_dropout=number(settings, "dropout", str(file), 0.1),
        attention_dropout=number(settings, "attention_dropout", str(file), 0.1),
    )


def _tied(ours: Mapping[str, Lazy]) -> bool:
    decoder, word = ours.get("mlm.decoder.weight"), ours["embeddings.word.weight"]
    return decoder is None or (decoder.shape == word.shape and torch.equal(decoder.read(), word.read()))


def _vocabulary(file: Path) -> Path | None:
    """The dictionary beside the checkpoint; with GPT-2's encoder.json beside it, the folder says more."""
    if (file.parent / "encoder.json").is_file() and (file.parent / "vocab.bpe").is_file():
        return file.parent
    return next(iter(sorted(file.parent.glob("dict*.txt"))), None)
