"""x·Wᵀ + b, the way round that the machine likes better.

With few rows on a CPU, MKL multiplies W·xᵀ up to 1.5 times as fast as x·Wᵀ in float32: the same product,
its long side first (benchmarks/affine_cpu.py; one sentence of 16 to 128 tokens is such a case). Beyond a
few hundred rows the two are equal, and in bfloat16 another library is at work.

Shapes: N rows.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

FEW = range(16, 257)  # rows


def affine(layer: nn.Linear, rows_N: Tensor) -> Tensor:
    """`layer(rows_N)`; its result may be laid out column by column."""
    if rows_N.shape[0] in FEW and _plain_inference(rows_N):
        return torch.addmm(layer.bias[:, None], layer.weight, rows_N.t()).t()
    return layer(rows_N)


def _plain_inference(rows_N: Tensor) -> bool:
    return (
        rows_N.device.type == "cpu"
        and rows_N.dtype == torch.float32
        and not torch.is_grad_enabled()
        and not torch.is_autocast_enabled("cpu")
        and not torch.compiler.is_compiling()
    )
