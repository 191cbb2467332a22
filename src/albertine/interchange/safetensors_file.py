"""safetensors: read one tensor at a time, write one tensor at a time.

The library validates what it reads. It writes only a dictionary that is in memory as a whole, so the
writer is ours: the format is a length, a JSON header and raw bytes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from math import prod
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open

from albertine.errors import AlbertineError
from albertine.interchange.tensors import Lazy

_NAMES: dict[torch.dtype, str] = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}
_TYPES = {name: dtype for dtype, name in _NAMES.items()}
WRITABLE = frozenset(_NAMES)
_ALIGNMENT = 8  # bytes; the library reads tensors in place
_HEADER_LIMIT = 100_000_000  # bytes; the library's own limit


def read_safetensors(file: Path) -> dict[str, Lazy]:
    """Every tensor of the file."""
    try:
        with safe_open(file, "pt") as opened:
            return {name: _lazy(file, name, opened.get_slice(name)) for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise AlbertineError(f"{file}: not a whole safetensors file ({error})") from error


def _lazy(file: Path, name: str, piece: object) -> Lazy:
    kind = piece.get_dtype()  # type: ignore[attr-defined]
    shape = tuple(piece.get_shape())  # type: ignore[attr-defined]
    if kind not in _TYPES:
        raise AlbertineError(f"{file}: {name} has type {kind}, which is not supported")
    return Lazy(f"{file.name}: {name}", shape, _TYPES[kind], lambda: _read(file, name))


def _read(file: Path, name: str) -> torch.Tensor:
    # Opened anew for every tensor: the mapping, and the memory it counts for, goes with the tensor.
    try:
        with safe_open(file, "pt") as opened:
            return opened.get_tensor(name)
    except (SafetensorError, OSError) as error:
        raise AlbertineError(f"{file}: {name} cannot be read ({error})") from error


def write_safetensors(file: Path, tensors: Mapping[str, Lazy]) -> str:
    """Write the tensors in the order given, never holding more than one; the file's SHA-256."""
    digest = hashlib.sha256()
    with file.open("xb") as stream:
        header = _header(tensors)
        for chunk in (len(header).to_bytes(8, "little"), header):
            stream.write(chunk)
            digest.update(chunk)
        for name, lazy in tensors.items():
            raw = _bytes(lazy, name)
            stream.write(raw)
            digest.update(raw)
    return digest.hexdigest()


def _header(tensors: Mapping[str, Lazy]) -> bytes:
    entries: dict[str, object] = {"__metadata__": {"format": "pt"}}
    offset = 0
    for name, lazy in tensors.items():
        end = offset + prod(lazy.shape) * lazy.dtype.itemsize
        entries[name] = {"dtype": _NAMES[lazy.dtype], "shape": lazy.shape, "data_offsets": [offset, end]}
        offset = end
    header = json.dumps(entries, separators=(",", ":")).encode()
    header += b" " * (-len(header) % _ALIGNMENT)
    if len(header) > _HEADER_LIMIT:
        raise AlbertineError(f"{len(tensors)} tensors are too many for one safetensors file")
    return header


def _bytes(lazy: Lazy, name: str) -> memoryview:
    tensor = lazy.read().contiguous()
    if tuple(tensor.shape) != lazy.shape or tensor.dtype != lazy.dtype:
        raise AlbertineError(f"{lazy.origin}: changed while {name} was written")
    return tensor.reshape(-1).view(torch.uint8).numpy().data
