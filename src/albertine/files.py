"""Reading what others wrote: bounded, checked, and every failure names the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from albertine.errors import AlbertineError

T = TypeVar("T")
MAX_BYTES = 256 * 2**20  # the largest published tokenizers are about 35 MB, configs far smaller


def read_bytes(path: Path) -> bytes:
    """The whole file, unless it is absurdly large."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise AlbertineError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(data) > MAX_BYTES:
        raise AlbertineError(f"{path}: more than {MAX_BYTES >> 20} MiB is too much for a config or a vocabulary")
    return data


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file; only line feeds end one, as some vocabularies hold other separators."""
    return split_lines(read_bytes(path), str(path))


def split_lines(data: bytes, where: str) -> list[str]:
    """Lines of UTF-8 text, without their ends."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise AlbertineError(f"{where}: line {line} (byte {error.start}) is not UTF-8 text") from error
    return text.removesuffix("\n").split("\n") if text else []


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object; nesting beyond Python's own limit is refused like any other damage."""
    try:
        value = json.loads(read_bytes(path))
    except RecursionError as error:
        raise AlbertineError(f"{path}: nested too deeply") from error
    except ValueError as error:
        raise AlbertineError(f"{path}: not JSON ({error})") from error
    if not isinstance(value, dict):
        raise AlbertineError(f"{path}: holds a {type(value).__name__} where a JSON object belongs")
    return value


def choice(options: Mapping[str, Any], name: str, file: str, choices: Mapping[str, T], default: str) -> T:
    """What a word in a config stands for."""
    value = options.get(name, default)
    if not isinstance(value, str) or value not in choices:
        raise AlbertineError(f"{file}: {name} {value!r} is not one of {', '.join(choices)}")
    return choices[value]


def whole(
    options: Mapping[str, Any], name: str, file: str, default: int | None = None, *, most: int = 2**31 - 1
) -> int:
    """A whole number from a config, small enough to be meant."""
    value = options.get(name)
    value = default if value is None else value
    if value is None:
        raise AlbertineError(f"{file}: {name} is missing")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise AlbertineError(f"{file}: {name} has to be a whole number up to {most}, not {str(value)[:40]}")
    return value


def number(options: Mapping[str, Any], name: str, file: str, default: float) -> float:
    """A real number from a config."""
    value = options.get(name, default)
    if value is None:
        return default
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise AlbertineError(f"{file}: {name} has to be a number, not {value!r}")
    return float(value)
