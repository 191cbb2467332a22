"""One training step or one batch to encode: what memory is forecast for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from albertine.config import EncoderConfig
from albertine.errors import AlbertineError
from albertine.plan.flops import ASKED_SHARE

Precision = Literal["float32", "bfloat16"]
Optimiser = Literal["adamw", "lamb", "sgd"]


@dataclass(frozen=True, kw_only=True)
class Job:
    """Full sequences, eager layers, fused attention; bfloat16 is autocast over float32 weights."""

    config: EncoderConfig
    batch: int = 32
    length: int = 512
    precision: Precision = "bfloat16"
    checkpointing: bool = False  # keep each layer's input only, and compute the layer again going back
    optimiser: Optimiser = "adamw"
    asked_share: float = ASKED_SHARE

    def __post_init__(self) -> None:
        if self.batch < 1 or self.length < 1:
            raise AlbertineError(f"batch {self.batch} × length {self.length}: both are counted from 1")
        if self.length > self.config.max_positions:
            raise AlbertineError(f"length {self.length} is more than the model's {self.config.max_positions} positions")
        if not 0 <= self.asked_share <= 1:
            raise AlbertineError(f"asked_share has to lie in [0, 1], not {self.asked_share!r}")
        for name, choices in (("precision", get_args(Precision)), ("optimiser", get_args(Optimiser))):
            if getattr(self, name) not in choices:
                raise AlbertineError(f"{name} is {getattr(self, name)!r}; it has to be one of {', '.join(choices)}")

    @property
    def tokens(self) -> int:
        return self.batch * self.length

    @property
    def asked(self) -> int:
        """Positions that reach the masked-word head."""
        return round(self.tokens * self.asked_share) if self.config.mlm_head != "none" else 0

    @property
    def narrow(self) -> int:
        """Bytes of what matrix products read and write."""
        return 2 if self.precision == "bfloat16" else 4

    @property
    def stream(self) -> int:
        """Bytes per element of the first layer's input: autocast leaves a projection's output narrow."""
        mapped_last = self.config.projection != "none" and self.config.embedding_space == "E"
        return self.narrow if mapped_last else 4

    @property
    def later_stream(self) -> int:
        """The same for later layers: LayerNorm gives float32; a pre-LN stream stays as it began."""
        return self.stream if self.config.norm == "pre" else 4

    @property
    def last_state(self) -> int:
        """The same for the states that the encoder returns."""
        return 4 if self.config.final_norm else self.later_stream
