"""Which layer uses which block: sharing is a plan, not a subclass (ALBERT §3.1, Table 4).

An encoder owns some attention blocks and some feed-forward blocks. A plan names, for every
application of a layer, the attention block and the feed-forward block that it uses. What the
paper calls all-shared, shared-attention, shared-FFN and not-shared are four plans; its groups are a
fifth. Depth is an argument of the plan, so a shared model can run deeper or shallower than it was
trained without new weights.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from albertine.errors import AlbertineError

Kind = Literal["all", "attention", "ffn", "none", "groups", "explicit"]
Layer = tuple[int, int]  # (attention block, feed-forward block)
MOST = 4096  # applications; a config that asks for more is a mistake or a trap


@dataclass(frozen=True)
class Sharing:
    """A sharing plan; `Sharing.parse("groups(2,1)")` reads the form that configs and flags use."""

    kind: Kind
    groups: int = 1
    inner: int = 1  # blocks applied one after the other inside a group, at every layer
    layers: tuple[Layer, ...] = ()  # explicit plans only

    @staticmethod
    def parse(text: str) -> Sharing:
        if text in ("all", "attention", "ffn", "none"):
            return Sharing(text)
        if match := re.fullmatch(r"groups\(\s*(\d{1,4})\s*(?:,\s*(\d{1,4})\s*)?\)", text):
            groups, inner = int(match[1]), int(match[2] or 1)
            if groups < 1 or inner < 1:
                raise AlbertineError(f"sharing {text!r}: groups and inner blocks are counted from 1")
            return Sharing("groups", groups, inner)
        if match := re.fullmatch(r"explicit\(((?:\d{1,4}:\d{1,4})(?:\s+\d{1,4}:\d{1,4})*)\)", text):
            pairs = [pair.split(":") for pair in match[1].split()]
            return explicit(tuple((int(a), int(f)) for a, f in pairs))
        raise AlbertineError(
            f"unknown sharing plan {text[:60]!r}: use all, attention, ffn, none, groups(n) or groups(n,inner)"
        )

    def __str__(self) -> str:
        if self.kind == "groups":
            return f"groups({self.groups},{self.inner})"
        if self.kind == "explicit":
            return f"explicit({' '.join(f'{a}:{f}' for a, f in self.layers)})"
        return self.kind

    def plan(self, depth: int) -> tuple[Layer, ...]:
        """The blocks of every application, first to last, when the encoder runs `depth` layers deep."""
        if depth * self.inner > MOST or self.groups > MOST:
            raise AlbertineError(f"{depth} layers shared as {str(self)!r} are more than {MOST} applications of a block")
        match self.kind:
            case "all":
                return ((0, 0),) * depth
            case "attention":
                return tuple((0, layer) for layer in range(depth))
            case "ffn":
                return tuple((layer, 0) for layer in range(depth))
            case "none":
                return tuple((layer, layer) for layer in range(depth))
            case "groups":
                return _grouped(depth, self.groups, self.inner)
            case "explicit":
                return self.layers[:depth]

    def stored(self, num_layers: int) -> tuple[int, int]:
        """How many attention blocks and feed-forward blocks a model of `num_layers` owns."""
        if self.kind == "groups":
            return self.groups * self.inner, self.groups * self.inner
        plan = self.plan(num_layers)
        return max(a for a, _ in plan) + 1, max(f for _, f in plan) + 1

    def check(self, depth: int, num_layers: int) -> None:
        """Refuse a depth for which the model owns no blocks."""
        if depth < 1:
            raise AlbertineError(f"depth {depth}: an encoder runs at least one layer")
        if self.kind == "groups" and depth < self.groups:
            raise AlbertineError(f"depth {depth} is less than the {self.groups} groups of {self}")
        if self.kind in ("attention", "ffn", "none", "explicit") and depth > num_layers:
            raise AlbertineError(
                f"depth {depth} needs blocks that this model does not own: "
                f"it has {num_layers} layers, shared as {str(self)!r}"
            )


def _grouped(depth: int, groups: int, inner: int) -> tuple[Layer, ...]:
    # The published code divides as floats, so that L = G = 22 does not give the identity: kept.
    blocks = (int(layer / depth * groups) * inner + position for layer in range(depth) for position in range(inner))
    return tuple((block, block) for block in blocks)


def explicit(layers: tuple[Layer, ...]) -> Sharing:
    """The plan that applies exactly these blocks, under its plainest name."""
    depth = len(layers)
    for kind in ("all", "none", "attention", "ffn"):
        if Sharing(kind).plan(depth) == layers:
            return Sharing(kind)
    return Sharing("explicit", layers=layers)
