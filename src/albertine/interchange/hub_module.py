"""TF-Hub's ALBERT modules carry no config file: it follows from the variables' shapes.

The number of heads and of layers leaves no trace in a shared model's variables, so both come from the
sizes that Google published. No module was at hand to test against: this rests on lists of names.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from albertine.errors import AlbertineError
from albertine.interchange.tensorflow import read_bundle

# hidden size → (layers, heads) of the published English modules
_PUBLISHED = {768: (12, 12), 1024: (24, 16), 2048: (24, 16), 4096: (12, 64)}


def hub_config(prefix: Path, notes: list[str]) -> tuple[str, dict[str, Any]]:
    """The options that a config file would hold, and a name for it in error messages."""
    by_tail = {name.split("bert/", 1)[-1]: lazy.shape for name, lazy in read_bundle(prefix).items()}
    word = by_tail.get("embeddings/word_embeddings", ())
    position = by_tail.get("embeddings/position_embeddings", ())
    types = by_tail.get("embeddings/token_type_embeddings", ())
    pooler = by_tail.get("pooler/dense/kernel", ())
    inner = next((s for n, s in by_tail.items() if n.endswith("ffn_1/intermediate/dense/kernel")), ())
    if not all(len(shape) == 2 for shape in (word, position, types, pooler, inner)):
        raise AlbertineError(
            f"{prefix}.index: looks like a TF-Hub module, but its main variables are missing"
        )
    if inner[0] not in _PUBLISHED:
        raise AlbertineError(
            f"{prefix}.index: hidden size {inner[0]} is none of the published modules'; "
            "put an albert_config.json beside it"
        )
    layers, heads = _PUBLISHED[inner[0]]
    notes.append(f"a TF-Hub module tells neither layers nor heads: took the published {layers} and {heads}")
    options = {
        "vocab_size": word[0],
        "embedding_size": word[1],
        "hidden_size": inner[0],
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner[1],
        "max_position_embeddings": position[0],
        "type_vocab_size": types[0],
        "hidden_act": "gelu",
    }
    return f"{prefix}.index", options
