"""Protocol buffers' wire format, read without the library.

Two kinds of published file are protocol buffers: SentencePiece models and the index of a TensorFlow
checkpoint. Both are read as fields, in file order; nothing is copied before its length was checked.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

from albertine.errors import AlbertineError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_WIDTHS = {FIXED64: 8, FIXED32: 4}


class Field(NamedTuple):
    """One field: bytes where the wire type is length-delimited, else the number as it is stored."""

    number: int
    wire: int
    value: int | bytes

    def integer(self, where: str) -> int:
        """A varint, unsigned."""
        if self.wire != VARINT or not isinstance(self.value, int):
            raise self._unexpected("a whole number", where)
        return self.value

    def payload(self, where: str) -> bytes:
        """The bytes of a length-delimited field."""
        if not isinstance(self.value, bytes):
            raise self._unexpected("bytes", where)
        return self.value

    def text(self, where: str) -> str:
        try:
            return self.payload(where).decode("utf-8")
        except UnicodeDecodeError as error:
            raise AlbertineError(f"{where}: field {self.number} is not UTF-8 text") from error

    def float32(self, where: str) -> float:
        if self.wire != FIXED32 or not isinstance(self.value, int):
            raise self._unexpected("a 32-bit float", where)
        return struct.unpack("<f", self.value.to_bytes(4, "little"))[0]

    def _unexpected(self, wanted: str, where: str) -> AlbertineError:
        return AlbertineError(f"{where}: field {self.number} has wire type {self.wire} where {wanted} belongs")


def fields(data: bytes, where: str) -> Iterator[Field]:
    """The fields of one message; damage is an `AlbertineError` that says at which byte of `where`."""
    position, end = 0, len(data)
    while position < end:
        start = position
        tag, position = varint(data, position, where)
        number, wire = tag >> 3, tag & 7
        if not 1 <= number < 2**29:
            raise AlbertineError(f"{where}: damaged (byte {start}: {number} is no field number)")
        if wire == VARINT:
            value, position = varint(data, position, where)
            yield Field(number, wire, value)
            continue
        if wire == BYTES:
            length, position = varint(data, position, where)
        elif wire in _WIDTHS:
            length = _WIDTHS[wire]
        else:
            raise AlbertineError(f"{where}: damaged (byte {start}: unsupported wire type {wire})")
        if length > end - position:
            raise AlbertineError(
                f"{where}: damaged (byte {start}: field {number} claims {length} bytes, {end - position} are left)"
            )
        raw = data[position : position + length]
        yield Field(number, wire, raw if wire == BYTES else int.from_bytes(raw, "little"))
        position += length


def varint(data: bytes, position: int, where: str) -> tuple[int, int]:
    """The number at `position`, seven bits a byte, and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            raise AlbertineError(f"{where}: truncated (it ends inside a number at byte {position})")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), position
    raise AlbertineError(f"{where}: damaged (byte {position}: a number is longer than ten bytes)")
