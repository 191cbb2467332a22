"""Parameters by part: where a model's weights are (ALBERT Tables 1, 3 and 4 count these)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import prod

from albertine.config import EncoderConfig
from albertine.model.shapes import shapes


@dataclass(frozen=True)
class Parameters:
    """Exact counts; a block that many layers share is counted once."""

    words: int
    positions: int
    segments: int
    embedding_norm: int
    projection: int  # E→H
    attention: int
    ffn: int
    final_norm: int
    pooler: int
    mlm_head: int
    pair_head: int

    @property
    def without_pooler(self) -> int:
        """Embeddings and layers: what the papers' not-shared rows count."""
        return sum(asdict(self).values()) - self.pooler - self.mlm_head - self.pair_head

    @property
    def backbone(self) -> int:
        """Embeddings, layers and pooler: what a published checkpoint is said to have."""
        return self.without_pooler + self.pooler

    @property
    def with_heads(self) -> int:
        return self.backbone + self.mlm_head + self.pair_head

    @property
    def blocks(self) -> int:
        return self.attention + self.ffn

    def to_dict(self) -> dict[str, int]:
        totals = {
            "without_pooler": self.without_pooler,
            "backbone": self.backbone,
            "with_heads": self.with_heads,
        }
        return {**asdict(self), **totals}


def count(config: EncoderConfig) -> Parameters:
    """Count the tensors that a model of this description owns."""
    sizes = {name: prod(shape) for name, shape in shapes(config).items()}

    def under(prefix: str) -> int:
        return sum(size for name, size in sizes.items() if name.startswith(prefix))

    return Parameters(
        words=under("embeddings.word."),
        positions=under("embeddings.position."),
        segments=under("embeddings.segment."),
        embedding_norm=under("embeddings.norm."),
        projection=under("embeddings.projection."),
        attention=under("attention."),
        ffn=under("ffn."),
        final_norm=under("final_norm."),
        pooler=under("pooler."),
        mlm_head=under("mlm."),
        pair_head=under("pair."),
    )
