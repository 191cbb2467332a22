"""The fixtures that the authors' own TensorFlow graphs computed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from albertine.interchange.checkpoint import build
from albertine.interchange.google import read_google
from albertine.model.model import Model

FOLDER = Path(__file__).resolve().parent.parent / "golden"
ENCODERS = ("albert_shared", "albert_groups", "albert_zh", "albert_zh_preln", "bert")


@dataclass
class Golden:
    """One fixture: the model read from its checkpoint, what goes in, and what must come out."""

    model: Model
    arrays: dict[str, np.ndarray]

    def ints(self, name: str) -> torch.Tensor:
        return torch.from_numpy(self.arrays[f"in/{name}"].astype(np.int64))

    def out(self, name: str) -> torch.Tensor:
        return torch.from_numpy(self.arrays[f"out/{name}"])

    @property
    def layers(self) -> list[torch.Tensor]:
        count = sum(name.startswith("out/layer_") for name in self.arrays)
        return [self.out(f"layer_{layer}") for layer in range(count)]

    @property
    def asked_M(self) -> torch.Tensor:
        """Places of the masked words in the flattened batch."""
        batch, length = self.ints("ids").shape
        return (torch.arange(batch)[:, None] * length + self.ints("pos")).flatten()

    @property
    def pair(self) -> str:
        return "sop" if "out/sop_logits" in self.arrays else "pair"


def golden(name: str) -> Golden:
    with np.load(FOLDER / name / "golden.npz") as arrays:
        return Golden(build(read_google(FOLDER / name / "model.ckpt", {})), dict(arrays))
