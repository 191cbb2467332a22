"""TF-Hub's ALBERT modules carry no config file: it follows from the variables' shapes.

The number of heads and of layers leaves no trace in a shared model's variables, so both come from the
sizes that Google published. No module was at hand to test against: this rests on lists of names.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from albertine.errors import AlbertineError
from albertine.interchange.tensorflow import read_bundle
from albertine.model.shapes import Shape

# hidden size → (layers, heads) of the published English modules
_PUBLISHED = {768: (12, 12), 1024: (24, 16), 2048: (24, 16), 4096: (12, 64)}


def hub_config(prefix: Path, notes: list[str]) -> tuple[str, dict[str, Any]]:
    """The options that a config file would hold, and a name for it in error messages."""
    shapes = {name.split("bert/", 1)[-1]: lazy.shape for name, lazy in read_bundle(prefix).items()}
    vocabulary, embedding = _matrix(shapes, "embeddings/word_embeddings", prefix)
    hidden, intermediate = _matrix(shapes, "ffn_1/intermediate/dense/kernel", prefix)
    if hidden not in _PUBLISHED:
        raise AlbertineError(
            f"{prefix}.index: hidden size {hidden} is none of the published modules'; "
            "put an albert_config.json beside it"
        )
    layers, heads = _PUBLISHED[hidden]
    notes.append(f"a TF-Hub module tells neither layers nor heads: took the published {layers} and {heads}")
    options = {
        "vocab_size": vocabulary,
        "embedding_size": embedding,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": intermediate,
        "max_position_embeddings": _matrix(shapes, "embeddings/position_embeddings", prefix)[0],
        "type_vocab_size": _matrix(shapes, "embeddings/token_type_embeddings", prefix)[0],
        "hidden_act": "gelu",
    }
    return f"{prefix}.index", options


def _matrix(shapes: Mapping[str, Shape], tail: str, prefix: Path) -> tuple[int, int]:
    for name, shape in shapes.items():
        if name.endswith(tail) and len(shape) == 2:
            return shape[0], shape[1]
    raise AlbertineError(f"{prefix}.index: looks like a TF-Hub module, but {tail} is missing")
