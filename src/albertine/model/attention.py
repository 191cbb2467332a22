"""Attention: one function for every way to compute it.

`attend` takes queries, keys and values, who may see whom, terms to add to the scores, and a cache
of earlier keys and values. It picks how to compute them. The model above never asks.

Shapes: B batch, A heads, Q queries, K keys, D head size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from albertine.model.visibility import Visibility

Way = Literal["plain", "fused"]


@dataclass
class KeyValues:
    """What can be looked up; a cache is one of these per application of a layer, not per block."""

    keys_BAKD: Tensor
    values_BAKD: Tensor

    def extend(self, new: KeyValues) -> KeyValues:
        """Append later positions in place, and return everything seen so far."""
        self.keys_BAKD = torch.cat((self.keys_BAKD, new.keys_BAKD), dim=2)
        self.values_BAKD = torch.cat((self.values_BAKD, new.values_BAKD), dim=2)
        return self


def attend(
    query_BAQD: Tensor,
    seen: KeyValues,
    visibility: Visibility,
    terms_BAQK: Tensor | None = None,
    cache: KeyValues | None = None,
    *,
    way: Way = "fused",
    dropout: float = 0.0,
) -> Tensor:
    """softmax(q·k/√D + terms, over what may be seen) · v, by the way asked for.

    `terms_BAQK` broadcasts over batch and heads. With a cache, `seen` is appended to it, queries look
    at all of it, and the visibility describes all of it.
    """
    if cache is not None:
        seen = cache.extend(seen)
    bias = _bias(visibility, terms_BAQK, query_BAQD.dtype)
    if way == "plain":
        return _plain(query_BAQD, seen, bias, dropout)
    return F.scaled_dot_product_attention(
        query_BAQD, seen.keys_BAKD, seen.values_BAKD, attn_mask=bias, dropout_p=dropout
    )


def _bias(visibility: Visibility, terms_BAQK: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """What is added to the scores: a boolean mask when there are no terms, which kernels prefer."""
    allowed = visibility.allowed()
    if terms_BAQK is None or allowed is None:
        return allowed if terms_BAQK is None else terms_BAQK.to(dtype)
    return terms_BAQK.to(dtype).masked_fill(~allowed, -torch.inf)


def _plain(query_BAQD: Tensor, seen: KeyValues, bias: Tensor | None, dropout: float) -> Tensor:
    """The definition, with every score in memory: the reference for the others, in any precision."""
    scores_BAQK = query_BAQD @ seen.keys_BAKD.mT / query_BAQD.shape[-1] ** 0.5
    if bias is not None:
        scores_BAQK = scores_BAQK.masked_fill(~bias, -torch.inf) if bias.dtype == torch.bool else scores_BAQK + bias
    weights_BAQK = scores_BAQK.softmax(-1)
    if bias is not None:
        # A query that may see nobody gets zeros, as the fused kernels give, instead of 0/0.
        weights_BAQK = weights_BAQK.masked_fill(scores_BAQK.isneginf().all(-1, keepdim=True), 0)
    return F.dropout(weights_BAQK, dropout, training=dropout > 0) @ seen.values_BAKD
