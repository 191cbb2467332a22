"""`config.json`, both ways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from albertine.config import Activation, EncoderConfig, MlmHead
from albertine.errors import AlbertineError
from albertine.files import choice, number, whole
from albertine.interchange.huggingface.names import Family, albert_groups, stock_plan
from albertine.sharing import MOST, Sharing, explicit

# transformers' "gelu" is the erf form; its three tanh spellings differ only in how they are computed.
_READ: dict[str, Activation] = {
    "gelu": "gelu_erf",
    "gelu_python": "gelu_erf",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "swish": "swish",
    "silu": "swish",
}
_WRITE: dict[Activation, str] = {"gelu_tanh": "gelu_new", "gelu_erf": "gelu", "relu": "relu", "swish": "silu"}

FAMILIES: dict[str, Family] = {
    "albert": "albert",
    "bert": "bert",
    "roberta": "roberta",
    "xlm-roberta": "roberta",
    "camembert": "roberta",
    "megatron-bert": "megatron-bert",
}
_ARCHITECTURES: dict[Family, str] = {
    "albert": "Albert",
    "bert": "Bert",
    "roberta": "Roberta",
    "megatron-bert": "MegatronBert",
}


def write_config(config: EncoderConfig, family: Family, special_ids: Mapping[str, int]) -> dict[str, Any]:
    """What stock `transformers` has to be told about this encoder."""
    positions = config.max_positions + (config.first_position if family == "roberta" else 0)
    options: dict[str, Any] = {
        "architectures": [_architecture(config, family)],
        "model_type": family,
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_applications,
        "num_attention_heads": config.num_heads,
        "intermediate_size": config.intermediate_size,
        "hidden_act": _WRITE[config.activation],
        "hidden_dropout_prob": config.hidden_dropout,
        "attention_probs_dropout_prob": config.attention_dropout,
        "max_position_embeddings": positions,
        "type_vocab_size": max(config.num_types, 1),
        "initializer_range": config.initializer_range,
        "layer_norm_eps": config.norm_eps,
        "pad_token_id": config.pad_id,
        "tie_word_embeddings": config.mlm_tied,
        **special_ids,
    }
    if family == "albert":
        layers, groups, inner = albert_groups(config)
        options |= {"num_hidden_layers": layers, "num_hidden_groups": groups, "inner_group_num": inner}
        options |= {"embedding_size": config.embedding_size, "classifier_dropout_prob": 0.1}
    else:
        options["position_embedding_type"] = "absolute"
    return options


def _architecture(config: EncoderConfig, family: Family) -> str:
    name = _ARCHITECTURES[family]
    if config.mlm_head == "none":
        return f"{name}Model"
    return f"{name}ForPreTraining" if config.pair_head and family != "roberta" else f"{name}ForMaskedLM"


def has_pretraining_heads(options: Mapping[str, Any]) -> bool:
    """Whether the stock class named in `architectures` wraps the encoder, and so prefixes its tensors."""
    return not options["architectures"][0].endswith("Model")


def read_config(options: Mapping[str, Any], file: str, present: Heads) -> EncoderConfig:
    """Our description of a stock config; which heads there are is told by the tensors."""
    family = _family(options, file)
    _refuse_unsupported(options, file)
    albert = family == "albert"
    activation = choice(options, "hidden_act", file, _READ, "gelu_new" if albert else "gelu")
    dropout = 0.0 if albert else 0.1
    pad = whole(options, "pad_token_id", file, 1 if family == "roberta" else 0)
    first = pad + 1 if family == "roberta" else 0
    hidden = whole(options, "hidden_size", file)
    positions = whole(options, "max_position_embeddings", file)
    if positions <= first:
        raise AlbertineError(f"{file}: max_position_embeddings {positions} leaves no position after the padding")
    return EncoderConfig(
        vocab_size=whole(options, "vocab_size", file),
        embedding_size=whole(options, "embedding_size", file, 128) if albert else hidden,
        hidden_size=hidden,
        num_layers=whole(options, "num_hidden_layers", file, most=MOST),
        num_heads=whole(options, "num_attention_heads", file),
        intermediate_size=whole(options, "intermediate_size", file),
        max_positions=positions - first,
        num_types=whole(options, "type_vocab_size", file, 2),
        sharing=_sharing(options, file) if albert else Sharing("none"),
        norm="pre" if family == "megatron-bert" else "post",
        activation=activation,
        mlm_activation="gelu_erf" if family == "roberta" else activation,
        projection="affine" if albert else "none",
        embedding_norm=family != "megatron-bert",
        final_norm=family == "megatron-bert",
        norm_eps=number(options, "layer_norm_eps", file, 1e-12),
        pooler=present.pooler,
        mlm_head=present.mlm,
        mlm_tied=present.tied,
        pair_head=present.pair and present.pooler,
        pad_id=pad,
        first_position=first,
        hidden_dropout=number(options, "hidden_dropout_prob", file, dropout),
        attention_dropout=number(options, "attention_probs_dropout_prob", file, dropout),
        initializer_range=number(options, "initializer_range", file, 0.02),
    )


class Heads:
    """Which heads the tensors of a stock file hold."""

    def __init__(self, names: set[str], *, tied: bool) -> None:
        self.pooler = any(name.endswith(("pooler.weight", "pooler.dense.weight")) for name in names)
        biases = {"predictions.bias", "cls.predictions.bias", "lm_head.bias"}
        self.mlm: MlmHead = "embedding" if names & biases else "none"
        self.pair = bool(names & {"sop_classifier.classifier.weight", "cls.seq_relationship.weight"})
        self.tied = tied or self.mlm == "none"


def _family(options: Mapping[str, Any], file: str) -> Family:
    return choice(options, "model_type", file, FAMILIES, "none")


def _refuse_unsupported(options: Mapping[str, Any], file: str) -> None:
    if options.get("position_embedding_type", "absolute") != "absolute":
        raise AlbertineError(f"{file}: position_embedding_type {options['position_embedding_type']!r} is not supported")
    if options.get("is_decoder"):
        raise AlbertineError(f"{file}: is_decoder is set; this reads encoders")
    if options.get("pruned_heads"):
        raise AlbertineError(f"{file}: attention heads were pruned; layers of unequal width are not supported")


def _sharing(options: Mapping[str, Any], file: str) -> Sharing:
    layers = whole(options, "num_hidden_layers", file, most=MOST)
    groups = whole(options, "num_hidden_groups", file, 1, most=MOST)
    inner = whole(options, "inner_group_num", file, 1, most=MOST)
    if not 1 <= groups <= layers or inner < 1:
        raise AlbertineError(f"{file}: {groups} groups of {inner} for {layers} layers")
    plan = stock_plan(layers, groups, inner)
    named = Sharing("groups", groups, inner)
    if inner == 1 and explicit(plan).kind in ("all", "none"):
        return explicit(plan)
    return named if named.plan(layers) == plan else explicit(plan)
