"""Writes TensorFlow 1 checkpoints, so that every layout, size and kind of damage can be made in a test.

The fixtures under tests/golden come from TensorFlow itself and prove the reader; this writer is its
mirror and is checked against them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import google_crc32c
import numpy as np

_TYPES = {"float32": 1, "float64": 2, "int32": 3, "int64": 9, "float16": 19}
_MAGIC = 0xDB4775248B80FB57


def write_bundle(
    prefix: Path, arrays: Iterable[tuple[str, np.ndarray]] | Mapping[str, np.ndarray], *, shards: int = 1
) -> None:
    """Variables in name order, dealt to the data files in turn; one array in memory at a time."""
    items = arrays.items() if isinstance(arrays, Mapping) else arrays
    entries = [("", _varints({1: shards, 3: 0}))]
    streams = [Path(f"{prefix}.data-{i:05d}-of-{shards:05d}").open("wb") for i in range(shards)]
    for index, (name, array) in enumerate(items):
        shard = index % shards
        raw = np.ascontiguousarray(array).tobytes()
        shape = b"".join(_bytes(2, _varints({1: size})) for size in array.shape)
        message = _varints({1: _TYPES[array.dtype.name]}) + _bytes(2, shape)
        message += _varints({3: shard, 4: streams[shard].tell(), 5: len(raw)})
        message += bytes([6 << 3 | 5]) + masked(raw).to_bytes(4, "little")
        streams[shard].write(raw)
        entries.append((name, message))
    for stream in streams:
        stream.close()
    Path(f"{prefix}.index").write_bytes(_table(sorted(entries)))


def masked(raw: bytes) -> int:
    crc = google_crc32c.value(raw)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _table(entries: list[tuple[str, bytes]]) -> bytes:
    data, handles = b"", []
    for start in range(0, len(entries), 40):
        chunk = entries[start : start + 40]
        block = _block(chunk)
        handles.append((chunk[-1][0], _varint(len(data)) + _varint(len(block) - 5)))
        data += block
    meta = _block([])
    meta_handle = _varint(len(data)) + _varint(len(meta) - 5)
    data += meta
    index = _block(handles)
    footer = meta_handle + _varint(len(data)) + _varint(len(index) - 5)
    return data + index + footer.ljust(40, b"\0") + _MAGIC.to_bytes(8, "little")


def _block(entries: list[tuple[str, bytes]]) -> bytes:
    body, last = b"", b""
    for name, value in entries:
        key = name.encode()
        shared = len(key) - len(key[len(_common(last, key)) :])
        body += _varint(shared) + _varint(len(key) - shared) + _varint(len(value)) + key[shared:] + value
        last = key
    body += (0).to_bytes(4, "little") + (1).to_bytes(4, "little") + b"\0"
    return body + masked(body).to_bytes(4, "little")


def _common(left: bytes, right: bytes) -> bytes:
    size = next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    return left[:size]


def _varints(values: Mapping[int, int]) -> bytes:
    return b"".join(_varint(number << 3) + _varint(value) for number, value in values.items() if value)


def _bytes(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])
