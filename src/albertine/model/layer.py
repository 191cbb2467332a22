"""One layer: an attention block, then a feed-forward block, each with its residual and LayerNorm.

The order of norm and residual is the config's: after the sum (BERT, ALBERT), or before the block
(brightmart's xlarge and xxlarge, and most later encoders).

Shapes: N rows (tokens, padding dropped where possible), H hidden, I intermediate; B, A, T, D as in attention.
"""

from __future__ import annotations

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from albertine.config import Activation, EncoderConfig
from albertine.model.affine import affine
from albertine.model.attention import KeyValues, Way, attend
from albertine.model.visibility import Visibility


def activate(name: Activation) -> Callable[[Tensor], Tensor]:
    """The function behind an activation's name."""
    return _ACTIVATIONS[name]


_ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "gelu_erf": F.gelu,
    "relu": F.relu,
    "swish": F.silu,
}


class AttentionBlock(nn.Module):
    """Multi-head self-attention with its output map, residual and LayerNorm."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)  # queries, keys, values: one product
        self.output = nn.Linear(config.hidden_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.pre = config.norm == "pre"
        self.heads, self.head_size = config.num_heads, config.head_size
        self.dropout, self.score_dropout = config.hidden_dropout, config.attention_dropout

    def forward(
        self, states_NH: Tensor, visibility: Visibility, way: Way = "fused", cache: KeyValues | None = None
    ) -> Tensor:
        into_NH = self.norm(states_NH) if self.pre else states_NH
        qkv_BTH = visibility.spread(affine(self.qkv, into_NH))
        split = qkv_BTH.view(*qkv_BTH.shape[:2], 3, self.heads, self.head_size)
        query_BATD, keys_BATD, values_BATD = split.permute(2, 0, 3, 1, 4).unbind(0)
        mixed_BATD = attend(
            query_BATD,
            KeyValues(keys_BATD, values_BATD),
            visibility,
            cache=cache,
            way=way,
            dropout=self.score_dropout if self.training else 0.0,
        )
        mixed_NH = visibility.pack(mixed_BATD.transpose(1, 2).flatten(2))
        out_NH = states_NH + F.dropout(affine(self.output, mixed_NH), self.dropout, self.training)
        return out_NH if self.pre else self.norm(out_NH)


class FeedForwardBlock(nn.Module):
    """H → I → H with its residual and LayerNorm."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.inner = nn.Linear(config.hidden_size, config.intermediate_size)
        self.outer = nn.Linear(config.intermediate_size, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
        self.pre = config.norm == "pre"
        self.activation = activate(config.activation)
        self.dropout = config.hidden_dropout

    def forward(self, states_NH: Tensor) -> Tensor:
        into_NH = self.norm(states_NH) if self.pre else states_NH
        inner_NI = self.activation(affine(self.inner, into_NH))
        out_NH = states_NH + F.dropout(affine(self.outer, inner_NI), self.dropout, self.training)
        return out_NH if self.pre else self.norm(out_NH)


def layer(states_NH: Tensor, attention: nn.Module, ffn: nn.Module, visibility: Visibility, way: Way) -> Tensor:
    """One application of a layer. This is the function that gets compiled, once per distinct pair of blocks."""
    return ffn(attention(states_NH, visibility, way))
