"""Every option of an encoder, one typed tree.

ALBERT, BERT and RoBERTa are settings of this one description; `albertine.presets` has them by their
published names. Nothing here imports torch: planning a model costs no more than reading its numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from albertine.errors import AlbertineError, did_you_mean
from albertine.sharing import MOST, Sharing

Activation = Literal["gelu_tanh", "gelu_erf", "relu", "swish"]
NormOrder = Literal["post", "pre"]
Space = Literal["E", "H"]
Projection = Literal["affine", "linear", "none"]
MlmHead = Literal["none", "embedding", "hidden"]


@dataclass(frozen=True, kw_only=True)
class EncoderConfig:
    """What an encoder is: how wide, what is shared, which graph, which heads."""

    vocab_size: int
    embedding_size: int = 128  # E, the width of the embedding tables (ALBERT §3.1)
    hidden_size: int = 768  # H
    num_layers: int = 12  # L; under groups(n, inner) every layer applies `inner` blocks
    num_heads: int = 12
    intermediate_size: int = 3072  # width of the feed-forward block
    max_positions: int = 512  # longest input, in tokens
    num_types: int = 2  # segments told apart; 0 for models without segment embeddings
    sharing: Sharing = Sharing("all")

    norm: NormOrder = "post"  # LayerNorm after each residual sum (BERT), or before each block
    activation: Activation = "gelu_tanh"  # "gelu" means tanh in the TensorFlow code, erf in transformers
    embedding_space: Space = "E"  # where positions, types and the embedding LayerNorm live; brightmart: H
    projection: Projection = "affine"  # the E→H map: with bias (Google), without (brightmart), or absent
    embedding_norm: bool = True
    final_norm: bool = False  # one more LayerNorm after the last layer, as pre-LN encoders have it
    norm_eps: float = 1e-12

    pooler: bool = True
    mlm_head: MlmHead = "embedding"  # H→E, then the table (Google); H→H, back through E→H (brightmart)
    mlm_activation: Activation = "gelu_tanh"
    mlm_tied: bool = True  # the decoder is the word table itself
    pair_head: bool = True  # next sentence or sentence order: two classes on the pooled state

    pad_id: int = 0
    first_position: int = 0  # RoBERTa numbers its tokens from pad_id + 1
    hidden_dropout: float = 0.0  # probability
    attention_dropout: float = 0.0  # probability
    initializer_range: float = 0.02  # standard deviation of the truncated normal

    def __post_init__(self) -> None:
        for name in _SIZES:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 2**31:
                raise AlbertineError(f"{name} has to be a positive whole number, not {value!r}")
        if self.num_layers > MOST:
            raise AlbertineError(f"num_layers {self.num_layers} is more than {MOST}")
        for name in ("num_types", "pad_id", "first_position"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                raise AlbertineError(f"{name} has to be a whole number from 0, not {getattr(self, name)!r}")
        for name in ("embedding_norm", "final_norm", "pooler", "mlm_tied", "pair_head"):
            if not isinstance(getattr(self, name), bool):
                raise AlbertineError(f"{name} has to be true or false, not {getattr(self, name)!r}")
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise AlbertineError(f"{name} is {getattr(self, name)!r}; it has to be one of {', '.join(choices)}")
        for name in ("hidden_dropout", "attention_dropout", "norm_eps", "initializer_range"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or not 0 <= value < 1:
                raise AlbertineError(f"{name} has to lie in [0, 1), not {value!r}")
        if self.pad_id >= self.vocab_size:
            raise AlbertineError(f"pad_id {self.pad_id} is no row of a table of {self.vocab_size}")
        if self.hidden_size % self.num_heads:
            raise AlbertineError(f"hidden_size {self.hidden_size} is not a multiple of num_heads {self.num_heads}")
        if self.projection == "none" and self.embedding_size != self.hidden_size:
            raise AlbertineError(
                f"projection 'none' needs embedding_size {self.embedding_size} = hidden_size {self.hidden_size}"
            )
        if self.pair_head and not self.pooler:
            raise AlbertineError("pair_head reads the pooled state: it needs pooler")
        self.sharing.check(self.num_layers, self.num_layers)

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_heads

    @property
    def embedding_space_size(self) -> int:
        """Width of positions, types and the embedding LayerNorm."""
        return self.embedding_size if self.embedding_space == "E" else self.hidden_size

    @property
    def mlm_size(self) -> int:
        """Width of the masked-word head's inner state."""
        return self.embedding_size if self.mlm_head == "embedding" else self.hidden_size

    @property
    def num_applications(self) -> int:
        """How many attention + feed-forward pairs a token passes through."""
        return len(self.sharing.plan(self.num_layers))

    def with_(self, **changes: Any) -> EncoderConfig:
        """A copy with some options changed; unknown names are refused with a suggestion."""
        _refuse_unknown(changes)
        if isinstance(changes.get("sharing"), str):
            changes["sharing"] = Sharing.parse(changes["sharing"])
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "sharing": str(self.sharing)}

    @staticmethod
    def from_dict(options: Mapping[str, Any]) -> EncoderConfig:
        _refuse_unknown(options)
        if "vocab_size" not in options:
            raise AlbertineError("the encoder's config has no vocab_size")
        sharing = options.get("sharing", "all")
        if not isinstance(sharing, str):
            raise AlbertineError(f"sharing has to be text, not {sharing!r}")
        given: dict[str, Any] = {**options, "sharing": Sharing.parse(sharing)}
        return EncoderConfig(**given)


_SIZES = (
    "vocab_size",
    "embedding_size",
    "hidden_size",
    "num_layers",
    "num_heads",
    "intermediate_size",
    "max_positions",
)
_CHOICES: dict[str, tuple[str, ...]] = {
    "norm": get_args(NormOrder),
    "activation": get_args(Activation),
    "mlm_activation": get_args(Activation),
    "embedding_space": get_args(Space),
    "projection": get_args(Projection),
    "mlm_head": get_args(MlmHead),
}
_NAMES = tuple(field.name for field in fields(EncoderConfig))


def _refuse_unknown(options: Mapping[str, Any]) -> None:
    for name in options:
        if name not in _NAMES:
            raise AlbertineError(f"unknown encoder option {name!r}.{did_you_mean(name, list(_NAMES))}")
