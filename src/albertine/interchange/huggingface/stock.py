"""Which stock `transformers` model computes an encoder of ours exactly, and how it is written as one.

Whatever a stock model can compute is expressible, even what it cannot name: a partial sharing plan is
ALBERT with one group per layer; a missing E→H map is the identity; tables of two factors are multiplied
out. What no stock model computes is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch

from albertine.config import EncoderConfig
from albertine.errors import AlbertineError
from albertine.interchange.huggingface.names import PREFIX, Family, Names, names
from albertine.interchange.tensors import Lazy, given, product
from albertine.model.shapes import shapes

Derive = Callable[[Mapping[str, Lazy]], Lazy]


@dataclass
class StockForm:
    """An encoder as a stock model."""

    family: Family
    names: Names  # stock tensors that are ours as they stand
    derived: dict[str, Derive] = field(default_factory=dict)  # stock tensors computed from ours
    kept: list[str] = field(default_factory=list)  # ours that no stock tensor gives back as it stands
    notes: list[str] = field(default_factory=list)


def stock_form(config: EncoderConfig) -> StockForm:
    """How to write this encoder for stock `transformers`, or an error that says why not."""
    family = family_of(config)
    form = StockForm(family, names(family, config))
    prefix = PREFIX[family]
    if family == "albert":
        _fill_projection(form, config, prefix)
    elif config.projection != "none":
        _multiply_out(form, config, prefix)
    if family == "albert" and config.first_position:
        _drop_first_positions(form, config, prefix)
    if not config.num_types:
        _zero_segments(form, config, prefix)
    _set_aside_heads(form, config)
    given_back = {slot.ours for slot in form.names.values()}
    form.kept = [name for name in shapes(config) if name not in given_back]
    return form


def family_of(config: EncoderConfig) -> Family:
    """The stock model type that computes this graph."""
    in_hidden_space = config.projection == "none" or config.embedding_space == "H"
    _refuse_head(config, in_hidden_space)
    if config.norm == "pre":
        return _pre_norm_family(config, in_hidden_space)
    if not config.embedding_norm or config.final_norm:
        raise AlbertineError(
            "no stock transformers model is post-LN without an embedding LayerNorm or with a final one"
        )
    if config.first_position not in (0, config.pad_id + 1):
        raise AlbertineError(
            f"stock models count positions from 0 or from pad_id + 1 = {config.pad_id + 1}, not {config.first_position}"
        )
    if in_hidden_space and config.first_position:
        return "roberta"
    if in_hidden_space and (config.projection != "none" or config.sharing.kind == "none"):
        return "bert"
    return "albert"


def _pre_norm_family(config: EncoderConfig, in_hidden_space: bool) -> Family:
    if config.embedding_norm or not config.final_norm:
        raise AlbertineError(
            "no stock transformers model computes this pre-LN graph: it normalises the embeddings or lacks "
            "a LayerNorm after the last layer (brightmart's xlarge and xxlarge are such); "
            "keep it in albertine's own format with --to albertine"
        )
    if not in_hidden_space or config.first_position:
        raise AlbertineError(
            "stock megatron-bert computes pre-LN only with positions and segments in the hidden space, counted from 0"
        )
    return "megatron-bert"


def _refuse_head(config: EncoderConfig, in_hidden_space: bool) -> None:
    if config.mlm_head == "none":
        return
    factored = config.embedding_size != config.hidden_size
    if in_hidden_space and config.mlm_head == "embedding" and factored:
        raise AlbertineError("no stock model with positions in H has a masked-word head that works in E")
    if not in_hidden_space and config.mlm_head == "hidden" and factored:
        raise AlbertineError("no stock model with positions in E has a masked-word head that works in H")
    head = "gelu_erf" if in_hidden_space and config.first_position else config.activation
    if config.mlm_activation != head:
        raise AlbertineError(
            f"the masked-word head's {config.mlm_activation} differs from the {head} that stock models use there"
        )


def _fill_projection(form: StockForm, config: EncoderConfig, prefix: str) -> None:
    """Stock ALBERT always maps E→H with a bias: an absent map is the identity, an absent bias zero."""
    stock, hidden = f"{prefix}encoder.embedding_hidden_mapping_in", config.hidden_size
    if config.projection == "none":
        form.derived[f"{stock}.weight"] = lambda ours: given(torch.eye(hidden, dtype=_dtype(ours)), "identity")
    if config.projection != "affine":
        form.derived[f"{stock}.bias"] = lambda ours: given(torch.zeros(hidden, dtype=_dtype(ours)), "zeros")


def _multiply_out(form: StockForm, config: EncoderConfig, prefix: str) -> None:
    """V×E times E×H: one table of V×H, which also serves a decoder that goes back through the map."""
    word, projection = "embeddings.word.weight", "embeddings.projection.weight"
    stock = f"{prefix}embeddings.word_embeddings.weight"
    form.derived[stock] = lambda ours: product(ours[word], ours[projection].transposed())
    del form.names[stock]
    if config.projection == "affine":
        # word·P + bias + position: the bias moves into the positions, which are added to every token.
        position, bias = "embeddings.position.weight", "embeddings.projection.bias"
        stock = f"{prefix}embeddings.position_embeddings.weight"
        form.derived[stock] = lambda ours: given(ours[position].read() + ours[bias].read(), "positions + bias")
        del form.names[stock]


def _drop_first_positions(form: StockForm, config: EncoderConfig, prefix: str) -> None:
    """Stock ALBERT counts positions from 0: the rows before ours begin are left out."""
    position, stock = "embeddings.position.weight", f"{prefix}embeddings.position_embeddings.weight"
    first, rows = config.first_position, config.max_positions + config.first_position
    form.derived[stock] = lambda ours: ours[position].rows(first, rows)
    del form.names[stock]


def _zero_segments(form: StockForm, config: EncoderConfig, prefix: str) -> None:
    """Stock models always add segment embeddings: one segment of zeros adds nothing."""
    width = config.embedding_space_size if form.family == "albert" else config.hidden_size
    stock = f"{prefix}embeddings.token_type_embeddings.weight"
    form.derived[stock] = lambda ours: given(torch.zeros(1, width, dtype=_dtype(ours)), "zeros")


def _set_aside_heads(form: StockForm, config: EncoderConfig) -> None:
    """Heads for which the family has no place stay beside the stock file, and are named."""
    if config.pair_head and (form.family == "roberta" or config.mlm_head == "none"):
        for stock in [name for name, slot in form.names.items() if slot.ours.startswith("pair.")]:
            del form.names[stock]
        form.notes.append(f"stock {form.family} has no place for this pair head: kept in albertine.safetensors")


def _dtype(ours: Mapping[str, Lazy]) -> torch.dtype:
    return ours["embeddings.word.weight"].dtype
