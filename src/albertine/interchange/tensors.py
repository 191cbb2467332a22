"""Tensors that know what they are before they are read.

Converting a checkpoint of several gigabytes has to fit in little more than its largest tensor, so
readers hand out `Lazy` tensors, the map from one format's names to another's is arithmetic on them,
and the writer asks for one at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from albertine.errors import AlbertineError
from albertine.model.shapes import Shape


@dataclass(frozen=True)
class Lazy:
    """A tensor in a file, or what follows from tensors in files."""

    origin: str  # file and tensor, for error messages
    shape: Shape
    dtype: torch.dtype
    read: Callable[[], Tensor]
    pieces: tuple[Lazy, ...] = ()  # what it was stacked from, which a writer may want apart again

    def transposed(self) -> Lazy:
        """TensorFlow's kernels are input × output; ours are output × input."""
        if len(self.shape) != 2:
            raise AlbertineError(f"{self.origin}: a matrix was expected, shape {list(self.shape)} found")
        return Lazy(self.origin, self.shape[::-1], self.dtype, lambda: self.read().T.contiguous())

    def part(self, index: int, parts: int) -> Lazy:
        """The index-th of equal slices along the first dimension."""
        if len(self.pieces) == parts:
            return self.pieces[index]
        size = self.shape[0] // parts
        shape = (size, *self.shape[1:])
        return Lazy(self.origin, shape, self.dtype, lambda: self.read()[index * size : (index + 1) * size])

    def rows(self, start: int, stop: int) -> Lazy:
        shape = (stop - start, *self.shape[1:])
        return Lazy(self.origin, shape, self.dtype, lambda: self.read()[start:stop])


def given(tensor: Tensor, origin: str) -> Lazy:
    """A tensor that is in memory already."""
    return Lazy(origin, tuple(tensor.shape), tensor.dtype, lambda: tensor)


def stacked(parts: Sequence[Lazy]) -> Lazy:
    """Parts one below the other, such as queries, keys and values in one matrix."""
    first = parts[0]
    for other in parts[1:]:
        if other.shape != first.shape or other.dtype != first.dtype:
            raise AlbertineError(
                f"{other.origin}: {list(other.shape)} {other.dtype} does not fit beside "
                f"{first.origin}: {list(first.shape)} {first.dtype}"
            )
    shape = (sum(part.shape[0] for part in parts), *first.shape[1:])

    def read() -> Tensor:
        return torch.cat([part.read() for part in parts])

    return Lazy(first.origin, shape, first.dtype, read, tuple(parts))


def product(left: Lazy, right: Lazy) -> Lazy:
    """left · right, multiplied in double precision and rounded once, to the type of the left."""
    shape = (left.shape[0], right.shape[1])

    def read() -> Tensor:
        return _product(left.read(), right.read())

    return Lazy(left.origin, shape, left.dtype, read)


def _product(left: Tensor, right: Tensor, rows_at_once: int = 8192) -> Tensor:
    out = torch.empty(left.shape[0], right.shape[1], dtype=left.dtype)
    right64 = right.double()
    for start in range(0, left.shape[0], rows_at_once):
        out[start : start + rows_at_once] = left[start : start + rows_at_once].double() @ right64
    return out
