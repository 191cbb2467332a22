"""Sequences of token ids → rectangles of numbers, with every cut counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from albertine.errors import AlbertineError
from albertine.tokenizer.template import Template

Side = Literal["left", "right"]


@dataclass(frozen=True)
class Batch:
    """Padded inputs of an encoder. Shapes: B texts, T positions."""

    ids_BT: NDArray[np.int64]
    real_BT: NDArray[np.bool_]  # False on padding
    segments_BT: NDArray[np.int64]
    truncated: int  # how many texts lost tokens


def assemble(
    template: Template,
    firsts: list[list[int]],
    seconds: list[list[int]] | None,
    *,
    max_length: int,
    pad_to: int | None,
    pad_id: int | None,
    side: Side,
) -> Batch:
    """Cut, add special tokens, pad."""
    limit = max_length if pad_to is None else min(max_length, pad_to)
    room = limit - template.overhead(pair=seconds is not None)
    if room < 1:
        raise AlbertineError(f"{limit} tokens leave no room for text beside the special tokens")
    rows: list[tuple[list[int], list[int]]] = []
    truncated = 0
    for index, first in enumerate(firsts):
        second = None if seconds is None else seconds[index]
        keep_first, keep_second = fit(len(first), len(second or ()), room)
        truncated += keep_first < len(first) or keep_second < len(second or ())
        rows.append(template.fill(first[:keep_first], None if second is None else second[:keep_second]))
    return _pad(rows, truncated, pad_to=pad_to, pad_id=pad_id, side=side)


def fit(first: int, second: int, room: int) -> tuple[int, int]:
    """How much of each text stays: the longer one gives way first, the second one on a tie."""
    if first + second <= room:
        return first, second
    if second <= room // 2:
        return room - second, second
    if first <= (room + 1) // 2:
        return first, room - first
    return (room + 1) // 2, room // 2


def _pad(
    rows: Sequence[tuple[list[int], list[int]]],
    truncated: int,
    *,
    pad_to: int | None,
    pad_id: int | None,
    side: Side,
) -> Batch:
    longest = max((len(ids) for ids, _ in rows), default=0)
    width = longest if pad_to is None else pad_to
    if pad_id is None and any(len(ids) < width for ids, _ in rows):
        raise AlbertineError("this tokenizer has no padding token: give it texts of one length")
    ids_BT = np.full((len(rows), width), pad_id or 0, dtype=np.int64)
    real_BT = np.zeros((len(rows), width), dtype=np.bool_)
    segments_BT = np.zeros((len(rows), width), dtype=np.int64)
    for row, (ids, segments) in enumerate(rows):
        place = slice(width - len(ids), width) if side == "left" else slice(0, len(ids))
        ids_BT[row, place] = ids
        real_BT[row, place] = True
        segments_BT[row, place] = segments
    return Batch(ids_BT, real_BT, segments_BT, truncated)
