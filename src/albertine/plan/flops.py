"""Floating-point operations per token: what sharing does not save.

A shared block is applied as often as separate ones would be, so ALBERT-base does BERT-base's work with
a ninth of its weights (ALBERT §3.1). Counted are matrix products, two operations a multiply-add, as
usual; LayerNorm, softmax and the activation add about a hundredth.

H hidden, I intermediate, E embedding, V vocabulary, T length.
"""

from __future__ import annotations

from dataclasses import dataclass

from albertine.config import EncoderConfig

ASKED_SHARE = 0.15  # of the positions that pretraining asks for (BERT §3.1)


@dataclass(frozen=True)
class Flops:
    """Operations of the forward pass, per token."""

    projection: float  # E→H
    attention_maps: float  # queries, keys, values, output
    attention_scores: float  # q·k and weights·v: the part that grows with the length
    ffn: float
    mlm_head: float
    pair_head: float  # with the pooler: once a sequence

    @property
    def layers(self) -> float:
        return self.attention_maps + self.attention_scores + self.ffn

    @property
    def forward(self) -> float:
        return self.projection + self.layers + self.mlm_head + self.pair_head

    @property
    def backward(self) -> float:
        """Every product is done twice more: for its input and for its weight."""
        return 2 * self.forward

    def training(self, *, checkpointing: bool = False) -> float:
        """Forward and backward; checkpointing computes the layers once more."""
        return self.forward + self.backward + (self.layers if checkpointing else 0)

    def to_dict(self, *, checkpointing: bool = False) -> dict[str, float]:
        parts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        training = self.training(checkpointing=checkpointing)
        return {**parts, "forward": self.forward, "backward": self.backward, "training": training}


def count(config: EncoderConfig, length: int, *, asked_share: float = ASKED_SHARE) -> Flops:
    """Operations per token for sequences of `length` without padding."""
    hidden, inner, depth = config.hidden_size, config.intermediate_size, config.num_applications
    pooled = hidden * hidden + 2 * hidden if config.pair_head else 0
    return Flops(
        projection=0.0 if config.projection == "none" else 2.0 * config.embedding_size * hidden,
        attention_maps=2.0 * 4 * hidden * hidden * depth,
        attention_scores=2.0 * 2 * length * hidden * depth,
        ffn=2.0 * 2 * hidden * inner * depth,
        mlm_head=2.0 * _mlm(config) * asked_share,
        pair_head=2.0 * pooled / length,
    )


def _mlm(config: EncoderConfig) -> int:
    """Multiply-adds of the masked-word head at one asked position."""
    if config.mlm_head == "none":
        return 0
    dense = config.hidden_size * config.mlm_size
    if not config.mlm_tied:
        return dense + config.mlm_size * config.vocab_size
    back = config.hidden_size * config.embedding_size if goes_back(config) else 0
    return dense + back + config.embedding_size * config.vocab_size


def goes_back(config: EncoderConfig) -> bool:
    """Whether the head returns to width E through the transposed E→H map (brightmart)."""
    return config.mlm_head == "hidden" and config.projection != "none"
