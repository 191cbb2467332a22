"""Who may see whom.

A batch carries a `Visibility`; it says what is allowed and nothing about how attention is computed.
Two parts exist so far: everybody sees everybody (BERT, ALBERT, RoBERTa), and nobody sees padding.

Shapes: B batch, T positions, Q queries, K keys, N rows that hold a real token, H any width.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Visibility:
    """Bidirectional attention over the real tokens of a batch of padded sequences."""

    batch: int
    length: int
    real_BT: Tensor | None = None  # True where a real token stands; None: everywhere
    rows_N: Tensor | None = None  # the real tokens' places in the flattened batch, when rows are packed

    @staticmethod
    def of(batch: int, length: int, real_BT: Tensor | None, *, pack: bool) -> Visibility:
        """`pack` drops padding from everything but attention; it reads the mask on the host."""
        if real_BT is None:
            return Visibility(batch, length)
        real_BT = real_BT.bool()
        if not pack:
            return Visibility(batch, length, real_BT)
        if bool(real_BT.all()):
            return Visibility(batch, length)
        return Visibility(batch, length, real_BT, real_BT.flatten().nonzero().squeeze(1))

    def allowed(self) -> Tensor | None:
        """What may be seen, to broadcast to batch × heads × queries × keys; None: everything."""
        return None if self.real_BT is None else self.real_BT[:, None, None, :]

    def pack(self, states_BTH: Tensor) -> Tensor:
        """Batch × positions → rows: padding is dropped where the visibility says so."""
        states_H = states_BTH.reshape(self.batch * self.length, -1)
        return states_H if self.rows_N is None else states_H.index_select(0, self.rows_N)

    def spread(self, rows_NH: Tensor) -> Tensor:
        """Rows → batch × positions; zeros stand in dropped padding."""
        if self.rows_N is not None:
            full_H = rows_NH.new_zeros(self.batch * self.length, rows_NH.shape[-1])
            rows_NH = full_H.index_copy(0, self.rows_N, rows_NH)
        return rows_NH.reshape(self.batch, self.length, -1)


def host_mask(mask: Tensor | None) -> bool:
    """Whether the mask can be read without making an accelerator wait."""
    return mask is not None and mask.device.type == "cpu" and not torch.compiler.is_compiling()
