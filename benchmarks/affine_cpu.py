"""What the order of a product buys on the CPU: x·Wᵀ against W·xᵀ, float32, one layer's four maps.

Alternated runs, medians. Where it pays is where `albertine.model.affine` uses it.

    python benchmarks/affine_cpu.py
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from common import write_results

Map = Callable[[Tensor, Tensor, Tensor], Tensor]
WIDTHS = ((312, 1248), (768, 3072), (1024, 4096))
ROWS = (1, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
RUNS = 15


def main() -> None:
    torch.manual_seed(0)
    rows = []
    for hidden, intermediate in WIDTHS:
        shapes = ((3 * hidden, hidden), (hidden, hidden), (intermediate, hidden), (hidden, intermediate))
        maps = [(torch.randn(shape) * 0.02, torch.randn(shape[0])) for shape in shapes]
        for count in ROWS:
            a, b = measure(maps, torch.randn(count, hidden))
            rows.append({"hidden": hidden, "rows": count, "xWt_ms": round(a, 3), "Wxt_ms": round(b, 3)})
            rows[-1]["ratio"] = round(a / b, 2)
            print(*rows[-1].values(), sep="\t", flush=True)
    print(write_results("affine_cpu", rows))


@torch.inference_mode()
def measure(maps: list[tuple[Tensor, Tensor]], x: Tensor) -> tuple[float, float]:
    times: dict[Map, list[float]] = {F.linear: [], flipped: []}
    for run in range(RUNS + 2):
        for function, found in times.items():
            start = time.perf_counter()
            layer(function, maps, x)
            if run >= 2:
                found.append(time.perf_counter() - start)
    a, b = (statistics.median(found) * 1e3 for found in times.values())
    return a, b


def flipped(x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return torch.addmm(bias[:, None], weight, x.t()).t()


def layer(function: Map, maps: list[tuple[Tensor, Tensor]], x: Tensor) -> Tensor:
    """The maps of a layer with what stands between them, so that layouts have to be paid for."""
    hidden = x.shape[1]
    mixed = function(x, *maps[0])[:, :hidden]
    x = F.layer_norm(x + function(mixed, *maps[1]), (hidden,))
    inner = F.gelu(function(x, *maps[2]), approximate="tanh")
    return F.layer_norm(x + function(inner, *maps[3]), (hidden,))


if __name__ == "__main__":
    main()
