"""Single `.bin` files with BERT's keys: UniLM, and models of the pytorch_pretrained_bert days.

UniLM has six segments (two for each direction of sight, two for sequence-to-sequence), erf gelu, and
normalises with epsilon 1e-5. Heads that relax their projection into several copies are normalised
together, which no other model does: such a head is left out, and said so.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from albertine.config import Activation, EncoderConfig
from albertine.errors import AlbertineError, about
from albertine.files import choice, number, read_json, whole
from albertine.interchange.checkpoint import Checkpoint, assemble, check
from albertine.interchange.huggingface.names import names
from albertine.interchange.huggingface.read import leftovers, modern
from albertine.interchange.pickle_file import tensors_of
from albertine.interchange.tensors import Lazy
from albertine.sharing import MOST, Sharing

UNILM_SEGMENTS = 6
_ACTIVATIONS: dict[str, Activation] = {"gelu": "gelu_erf", "relu": "relu", "swish": "swish"}


def is_bert_like(value: Mapping[str, Any]) -> bool:
    return any("embeddings.word_embeddings.weight" in str(name) for name in value)


def read_unilm(file: Path, value: dict[str, Any], overrides: Mapping[str, Any]) -> Checkpoint:
    """A dictionary of tensors that `read_pickle` opened, with the config found beside it."""
    tensors = modern(tensors_of(value, file), "bert")
    config_file, options = _config_file(file)
    notes: list[str] = []
    relaxed = _drop_relaxed_head(tensors, options, notes)
    with about(config_file):
        config = _config(options, str(config_file), tensors, notes).with_(**overrides)
    table = names("bert", config)
    left_out = relaxed + leftovers(tensors, table, "bert.", str(config_file))
    source = "UniLM" if config.num_types == UNILM_SEGMENTS else "PyTorch, BERT's keys"
    checkpoint = Checkpoint(
        config, assemble(tensors, table), source, file, _vocabulary(file), notes=notes, left_out=left_out
    )
    return check(checkpoint, table, str(config_file))


def _config_file(file: Path) -> tuple[Path, dict[str, Any]]:
    """`unilm1-base-cased.bin` comes with `unilm1-base-cased-config.json`, others with some *config*.json."""
    own = file.with_name(f"{file.stem}-config.json")
    candidates = [own] if own.is_file() else sorted(file.parent.glob("*config*.json"))
    described = [(candidate, options) for candidate in candidates if "hidden_size" in (options := read_json(candidate))]
    if len(described) > 1:
        listed = ", ".join(candidate.name for candidate, _ in described)
        raise AlbertineError(f"{file.parent}: several configs ({listed}); leave one beside {file.name}")
    if described:
        return described[0]
    raise AlbertineError(f"{file.parent}: no config JSON beside {file.name}")


def _drop_relaxed_head(tensors: dict[str, Lazy], options: Mapping[str, Any], notes: list[str]) -> list[str]:
    dense = tensors.get("cls.predictions.transform.dense.weight")
    if dense is None or dense.shape[0] == options.get("hidden_size"):
        return []
    copies = dense.shape[0] // max(dense.shape[1], 1)
    notes.append(f"masked-word head left out: its {copies} relaxed copies are normalised together")
    dropped = [name for name in tensors if name.startswith("cls.predictions.")]
    for name in dropped:
        del tensors[name]
    return dropped


def _config(options: Mapping[str, Any], file: str, tensors: Mapping[str, Lazy], notes: list[str]) -> EncoderConfig:
    activation = choice(options, "hidden_act", file, _ACTIVATIONS, "gelu")
    if any(options.get(extra) for extra in ("num_qkv", "seg_emb", "ffn_type")):
        raise AlbertineError(f"{file}: num_qkv, seg_emb and ffn_type change the graph; they are not supported")
    segments = tensors.get("bert.embeddings.token_type_embeddings.weight")
    num_types = segments.shape[0] if segments is not None else 0
    unilm = num_types == UNILM_SEGMENTS
    if unilm and "layer_norm_eps" not in options:
        notes.append("LayerNorm epsilon 1e-5, as UniLM's code has it; its config file does not say")
    hidden = whole(options, "hidden_size", file)
    return EncoderConfig(
        vocab_size=whole(options, "vocab_size", file),
        embedding_size=hidden,
        hidden_size=hidden,
        num_layers=whole(options, "num_hidden_layers", file, most=MOST),
        num_heads=whole(options, "num_attention_heads", file),
        intermediate_size=whole(options, "intermediate_size", file),
        max_positions=whole(options, "max_position_embeddings", file),
        num_types=num_types,
        sharing=Sharing("none"),
        activation=activation,
        mlm_activation=activation,
        projection="none",
        norm_eps=number(options, "layer_norm_eps", file, 1e-5 if unilm else 1e-12),
        pooler="bert.pooler.dense.weight" in tensors,
        mlm_head="embedding" if "cls.predictions.bias" in tensors else "none",
        pair_head="cls.seq_relationship.weight" in tensors and "bert.pooler.dense.weight" in tensors,
        hidden_dropout=number(options, "hidden_dropout_prob", file, 0.1),
        attention_dropout=number(options, "attention_probs_dropout_prob", file, 0.1),
    )


def _vocabulary(file: Path) -> Path | None:
    own = file.with_name(f"{file.stem}-vocab.txt")
    return own if own.is_file() else next(iter(sorted(file.parent.glob("*vocab*.txt"))), None)
