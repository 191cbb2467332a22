"""What stock `transformers` calls our tensors, family by family.

Every table goes from the stock name to our slot. Several stock names may point to one slot: a stock
layout without sharing repeats a shared block for every layer that uses it.
"""

from __future__ import annotations

from typing import Literal

from albertine.config import EncoderConfig
from albertine.interchange.checkpoint import Slot

Family = Literal["albert", "bert", "roberta", "megatron-bert"]
Names = dict[str, Slot]

PREFIX: dict[Family, str] = {
    "albert": "albert.",
    "bert": "bert.",
    "roberta": "roberta.",
    "megatron-bert": "bert.",
}


def names(family: Family, config: EncoderConfig) -> Names:
    """Every stock name of the family that holds one of our tensors as it stands."""
    prefix = PREFIX[family]
    table = _embeddings(prefix, config)
    if family == "albert":
        table |= _albert_body(prefix, config) | _albert_heads(prefix, config)
    else:
        table |= _bert_body(prefix, config, megatron=family == "megatron-bert")
        table |= _roberta_heads(prefix, config) if family == "roberta" else _bert_heads(prefix, config)
    return table


def _both(stock: str, ours: str, part: int | None = None) -> Names:
    return {f"{stock}.{leaf}": Slot(f"{ours}.{leaf}", part) for leaf in ("weight", "bias")}


def _embeddings(prefix: str, config: EncoderConfig) -> Names:
    table = {
        f"{prefix}embeddings.word_embeddings.weight": Slot("embeddings.word.weight"),
        f"{prefix}embeddings.position_embeddings.weight": Slot("embeddings.position.weight"),
    }
    if config.num_types:
        table[f"{prefix}embeddings.token_type_embeddings.weight"] = Slot("embeddings.segment.weight")
    if config.embedding_norm:
        table |= _both(f"{prefix}embeddings.LayerNorm", "embeddings.norm")
    return table


def albert_groups(config: EncoderConfig) -> tuple[int, int, int]:
    """(layers, groups, inner) that make stock ALBERT apply our blocks in our order.

    A plan that stock ALBERT cannot name gets one group per application. Its formula for a layer's
    group divides the other way round than the published code: the two agree almost everywhere.
    """
    sharing, layers = config.sharing, config.num_layers
    if sharing.kind == "all":
        return layers, 1, 1
    if sharing.kind == "groups" and stock_plan(layers, sharing.groups, sharing.inner) == sharing.plan(layers):
        return layers, sharing.groups, sharing.inner
    return config.num_applications, config.num_applications, 1


def stock_plan(layers: int, groups: int, inner: int) -> tuple[tuple[int, int], ...]:
    """The blocks that stock ALBERT applies."""
    blocks = (int(layer / (layers / groups)) * inner + i for layer in range(layers) for i in range(inner))
    return tuple((block, block) for block in blocks)


def _albert_body(prefix: str, config: EncoderConfig) -> Names:
    table: Names = {}
    if config.projection != "none":
        table[f"{prefix}encoder.embedding_hidden_mapping_in.weight"] = Slot("embeddings.projection.weight")
    if config.projection == "affine":
        table[f"{prefix}encoder.embedding_hidden_mapping_in.bias"] = Slot("embeddings.projection.bias")
    layers, groups, inner = albert_groups(config)
    plan = config.sharing.plan(config.num_layers)
    unrolled = groups == config.num_applications and inner == 1 and groups == layers
    for group in range(groups):
        for position in range(inner):
            attention, ffn = plan[group] if unrolled else (group * inner + position,) * 2
            table |= _albert_block(
                f"{prefix}encoder.albert_layer_groups.{group}.albert_layers.{position}", attention, ffn
            )
    return table


def _albert_block(stock: str, attention: int, ffn: int) -> Names:
    table: Names = {}
    for part, name in enumerate(("query", "key", "value")):
        table |= _both(f"{stock}.attention.{name}", f"attention.{attention}.qkv", part)
    table |= _both(f"{stock}.attention.dense", f"attention.{attention}.output")
    table |= _both(f"{stock}.attention.LayerNorm", f"attention.{attention}.norm")
    table |= _both(f"{stock}.ffn", f"ffn.{ffn}.inner") | _both(f"{stock}.ffn_output", f"ffn.{ffn}.outer")
    return table | _both(f"{stock}.full_layer_layer_norm", f"ffn.{ffn}.norm")


def _albert_heads(prefix: str, config: EncoderConfig) -> Names:
    table = _both(f"{prefix}pooler", "pooler") if config.pooler else {}
    if config.mlm_head != "none":
        table |= _mlm("predictions", "predictions.dense", "predictions.LayerNorm", config)
    if config.pair_head:
        table |= _both("sop_classifier.classifier", "pair")
    return table


def _bert_body(prefix: str, config: EncoderConfig, *, megatron: bool) -> Names:
    table: Names = {}
    for layer, (attention, ffn) in enumerate(config.sharing.plan(config.num_layers)):
        stock = f"{prefix}encoder.layer.{layer}"
        for part, name in enumerate(("query", "key", "value")):
            table |= _both(f"{stock}.attention.self.{name}", f"attention.{attention}.qkv", part)
        table |= _both(f"{stock}.attention.output.dense", f"attention.{attention}.output")
        norm = "attention.ln" if megatron else "attention.output.LayerNorm"
        table |= _both(f"{stock}.{norm}", f"attention.{attention}.norm")
        table |= _both(f"{stock}.intermediate.dense", f"ffn.{ffn}.inner")
        table |= _both(f"{stock}.output.dense", f"ffn.{ffn}.outer")
        table |= _both(f"{stock}.{'ln' if megatron else 'output.LayerNorm'}", f"ffn.{ffn}.norm")
    if megatron:
        table |= _both(f"{prefix}encoder.ln", "final_norm")
    return table


def _bert_heads(prefix: str, config: EncoderConfig) -> Names:
    table = _both(f"{prefix}pooler.dense", "pooler") if config.pooler else {}
    if config.mlm_head != "none":
        stock = "cls.predictions"
        table |= _mlm(stock, f"{stock}.transform.dense", f"{stock}.transform.LayerNorm", config)
    if config.pair_head:
        table |= _both("cls.seq_relationship", "pair")
    return table


def _roberta_heads(prefix: str, config: EncoderConfig) -> Names:
    table = _both(f"{prefix}pooler.dense", "pooler") if config.pooler else {}
    if config.mlm_head != "none":
        table |= _mlm("lm_head", "lm_head.dense", "lm_head.layer_norm", config)
    return table


def _mlm(stock: str, dense: str, norm: str, config: EncoderConfig) -> Names:
    table = _both(dense, "mlm.dense") | _both(norm, "mlm.norm")
    if not config.mlm_tied:
        # Untied, the decoder's own bias is the one at work; the head's is a leftover that nothing reads.
        table |= {f"{stock}.decoder.weight": Slot("mlm.decoder.weight"), f"{stock}.decoder.bias": Slot("mlm.bias")}
    return table | {f"{stock}.bias": Slot("mlm.bias")}
