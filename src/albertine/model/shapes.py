"""The tensors that an encoder owns, by name and shape, without torch.

One list serves everybody: the module is checked against it, readers check files against it, and
`albertine plan` counts it. V vocabulary, E embedding, H hidden, I intermediate.
"""

from __future__ import annotations

from math import prod

from albertine.config import EncoderConfig

Shape = tuple[int, ...]


def shapes(config: EncoderConfig) -> dict[str, Shape]:
    """Every parameter of the encoder and its heads, in the order of the forward pass."""
    return {**_embeddings(config), **_blocks(config), **_heads(config)}


def _affine(name: str, out: int, into: int) -> dict[str, Shape]:
    return {f"{name}.weight": (out, into), f"{name}.bias": (out,)}


def _norm(name: str, size: int) -> dict[str, Shape]:
    return {f"{name}.weight": (size,), f"{name}.bias": (size,)}


def _embeddings(config: EncoderConfig) -> dict[str, Shape]:
    width = config.embedding_space_size
    found: dict[str, Shape] = {
        "embeddings.word.weight": (config.vocab_size, config.embedding_size),
        "embeddings.position.weight": (config.max_positions + config.first_position, width),
    }
    if config.num_types:
        found["embeddings.segment.weight"] = (config.num_types, width)
    if config.embedding_norm:
        found |= _norm("embeddings.norm", width)
    if config.projection != "none":
        found["embeddings.projection.weight"] = (config.hidden_size, config.embedding_size)
    if config.projection == "affine":
        found["embeddings.projection.bias"] = (config.hidden_size,)
    return found


def _blocks(config: EncoderConfig) -> dict[str, Shape]:
    hidden, inner = config.hidden_size, config.intermediate_size
    attentions, ffns = config.sharing.stored(config.num_layers)
    found: dict[str, Shape] = {}
    for block in range(attentions):
        found |= _affine(f"attention.{block}.qkv", 3 * hidden, hidden)
        found |= _affine(f"attention.{block}.output", hidden, hidden)
        found |= _norm(f"attention.{block}.norm", hidden)
    for block in range(ffns):
        found |= _affine(f"ffn.{block}.inner", inner, hidden)
        found |= _affine(f"ffn.{block}.outer", hidden, inner)
        found |= _norm(f"ffn.{block}.norm", hidden)
    if config.final_norm:
        found |= _norm("final_norm", hidden)
    return found


def _heads(config: EncoderConfig) -> dict[str, Shape]:
    hidden = config.hidden_size
    found: dict[str, Shape] = {}
    if config.pooler:
        found |= _affine("pooler", hidden, hidden)
    if config.mlm_head != "none":
        found |= _affine("mlm.dense", config.mlm_size, hidden) | _norm("mlm.norm", config.mlm_size)
        found["mlm.bias"] = (config.vocab_size,)
        if not config.mlm_tied:
            found["mlm.decoder.weight"] = (config.vocab_size, config.mlm_size)
    if config.pair_head:
        found |= _affine("pair", 2, hidden)
    return found


def count(config: EncoderConfig) -> int:
    """How many numbers the encoder and its heads hold."""
    return sum(prod(shape) for shape in shapes(config).values())
