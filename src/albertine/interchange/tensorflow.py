"""TensorFlow 1 checkpoints, read without TensorFlow.

A checkpoint `X` is an index `X.index` (a sorted table in LevelDB's format: blocks of prefix-compressed
keys with a checksum each, then a footer) and data files `X.data-00000-of-0000N` (raw little-endian
numbers). The index tells every variable's type, shape, place and checksum; all of them are checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import google_crc32c
import numpy as np
import torch

from albertine.errors import AlbertineError
from albertine.interchange.tensors import Lazy
from albertine.model.shapes import Shape
from albertine.protobuf import fields, varint

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48  # two block handles, padded, and the magic number
_TRAILER = 5  # compression byte and checksum after every block
_INDEX_LIMIT = 64 * 2**20  # bytes; real indexes are kilobytes
_LONGEST_NAME = 1024  # keys share prefixes: short entries could otherwise unpack to any size

# DataType numbers of TensorFlow's types.proto; bfloat16 is read as raw 16-bit words.
_TYPES: dict[int, tuple[str, torch.dtype]] = {
    1: ("<f4", torch.float32),
    2: ("<f8", torch.float64),
    3: ("<i4", torch.int32),
    9: ("<i8", torch.int64),
    14: ("<i2", torch.bfloat16),
    19: ("<f2", torch.float16),
}


@dataclass(frozen=True)
class _Entry:
    """Where a variable lies and what it is: TensorFlow's BundleEntryProto."""

    kind: int = 0
    shape: Shape = ()
    shard: int = 0
    offset: int = 0
    size: int = 0
    checksum: int = 0
    sliced: bool = False


def read_bundle(prefix: Path) -> dict[str, Lazy]:
    """Every numeric variable of the checkpoint `prefix` (its path without `.index`)."""
    index = Path(f"{prefix}.index")
    if index.stat().st_size > _INDEX_LIMIT:
        raise AlbertineError(f"{index}: {index.stat().st_size} bytes is too large for a checkpoint index")
    table = _read_table(index.read_bytes(), str(index))
    shards = _header(table.pop("", b""), str(index))
    files = [Path(f"{prefix}.data-{shard:05d}-of-{shards:05d}") for shard in range(shards)]
    for file in files:
        if not file.is_file():
            raise AlbertineError(f"{file}: missing, though {index.name} refers to it")
    found: dict[str, Lazy] = {}
    for name, message in table.items():
        entry = _entry(message, f"{index}: {name}")
        if entry.kind in _TYPES:
            found[name] = _lazy(name, entry, files, index)
    return found


def _lazy(name: str, entry: _Entry, files: list[Path], index: Path) -> Lazy:
    where = f"{index}: {name}"
    if entry.sliced:
        raise AlbertineError(f"{where}: a partitioned variable; save the checkpoint without a partitioner")
    if entry.shard >= len(files):
        raise AlbertineError(f"{where}: lies in data file {entry.shard} of {len(files)}")
    format_, dtype = _TYPES[entry.kind]
    expected = int(np.prod(entry.shape, dtype=object)) * np.dtype(format_).itemsize
    file = files[entry.shard]
    if entry.size != expected:
        raise AlbertineError(f"{where}: {entry.size} bytes for shape {list(entry.shape)}, not {expected}")
    if entry.offset + entry.size > file.stat().st_size:
        raise AlbertineError(f"{file}: truncated before the end of {name}")
    return Lazy(f"{file.name}: {name}", entry.shape, dtype, lambda: _read(file, name, entry))


def _read(file: Path, name: str, entry: _Entry) -> torch.Tensor:
    with file.open("rb") as stream:
        stream.seek(entry.offset)
        raw = stream.read(entry.size)
    if len(raw) != entry.size:
        raise AlbertineError(f"{file}: truncated before the end of {name}")
    if _masked(google_crc32c.value(raw)) != entry.checksum:
        raise AlbertineError(f"{file}: the checksum of {name} does not match; the file is damaged")
    format_, dtype = _TYPES[entry.kind]
    tensor = torch.from_numpy(np.frombuffer(raw, dtype=format_).reshape(entry.shape).copy())
    return tensor.view(torch.bfloat16) if dtype == torch.bfloat16 else tensor


def _masked(crc: int) -> int:
    """TensorFlow and LevelDB store checksums rotated and shifted, so that data may contain them."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _read_table(data: bytes, where: str) -> dict[str, bytes]:
    """Key → message of a whole sorted table."""
    if len(data) < _FOOTER or int.from_bytes(data[-8:], "little") != _MAGIC:
        raise AlbertineError(f"{where}: not a TensorFlow checkpoint index, or truncated")
    footer = data[-_FOOTER:]
    _, at = varint(footer, 0, where)  # the meta-index, which checkpoints leave empty
    _, at = varint(footer, at, where)
    offset, at = varint(footer, at, where)
    size, _ = varint(footer, at, where)
    table: dict[str, bytes] = {}
    for _, handle in _block(data, offset, size, where):
        block_offset, at = varint(handle, 0, where)
        block_size, _ = varint(handle, at, where)
        for key, message in _block(data, block_offset, block_size, where):
            table[key.decode("utf-8", "replace")] = message
    return table


def _block(data: bytes, offset: int, size: int, where: str) -> list[tuple[bytes, bytes]]:
    """The entries of one block, its checksum verified; keys share prefixes with the key before."""
    end = offset + size
    if end + _TRAILER > len(data):
        raise AlbertineError(f"{where}: truncated or damaged (a block ends at byte {end} of {len(data)})")
    stored = int.from_bytes(data[end + 1 : end + _TRAILER], "little")
    if _masked(google_crc32c.value(data[offset : end + 1])) != stored:
        raise AlbertineError(f"{where}: the checksum of the block at byte {offset} does not match; damaged")
    if data[end] != 0:
        raise AlbertineError(f"{where}: compressed index blocks are not supported")
    block = data[offset:end]
    restarts = int.from_bytes(block[-4:], "little")
    body = block[: max(0, len(block) - 4 - 4 * restarts)]
    entries: list[tuple[bytes, bytes]] = []
    at, key = 0, b""
    while at < len(body):
        shared, at = varint(body, at, where)
        fresh, at = varint(body, at, where)
        length, at = varint(body, at, where)
        if shared > len(key) or shared + fresh > _LONGEST_NAME or fresh + length > len(body) - at:
            raise AlbertineError(f"{where}: damaged (an entry reaches past its block)")
        key = key[:shared] + body[at : at + fresh]
        entries.append((key, body[at + fresh : at + fresh + length]))
        at += fresh + length
    return entries


def _header(message: bytes, where: str) -> int:
    """The number of data files, after checking the byte order."""
    numbers = {number: value for number, wire, value in fields(message, where) if wire == 0}
    if numbers.get(2, 0) != 0:
        raise AlbertineError(f"{where}: written on a big-endian machine, which is not supported")
    shards = numbers.get(1, 0)
    if not isinstance(shards, int) or not 1 <= shards <= 99_999:
        raise AlbertineError(f"{where}: damaged header (data files: {shards})")
    return shards


def _entry(message: bytes, where: str) -> _Entry:
    values: dict[int, int] = {}
    shape: Shape = ()
    sliced = False
    for number, _, value in fields(message, where):
        if number == 2 and isinstance(value, bytes):
            shape = _shape(value, where)
        elif number == 7:
            sliced = True
        elif isinstance(value, int):
            values[number] = value
    return _Entry(
        values.get(1, 0),
        shape,
        values.get(3, 0),
        values.get(4, 0),
        values.get(5, 0),
        values.get(6, 0),
        sliced,
    )


def _shape(message: bytes, where: str) -> Shape:
    """TensorShapeProto: dimensions in field 2, each with its size in field 1."""
    sizes: list[int] = []
    for number, wire, dimension in fields(message, where):
        if number == 2 and isinstance(dimension, bytes):
            size = next((v for n, _, v in fields(dimension, where) if n == 1), 0)
            if not isinstance(size, int) or size > 2**40:
                raise AlbertineError(f"{where}: damaged shape")
            sizes.append(size)
        elif number == 3 and wire == 0 and dimension:
            raise AlbertineError(f"{where}: a variable of unknown rank")
    return tuple(sizes)
