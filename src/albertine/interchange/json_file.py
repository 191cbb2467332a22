"""JSON from strangers: bounded in size and depth, and always an object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from albertine.errors import AlbertineError

_LIMIT = 64 * 2**20  # bytes; the largest configs and indexes are a few megabytes


def read_json(file: Path) -> dict[str, Any]:
    """The object in a JSON file."""
    try:
        if file.stat().st_size > _LIMIT:
            raise AlbertineError(f"{file}: larger than {_LIMIT >> 20} MiB")
        value = json.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise AlbertineError(f"{file}: not readable JSON ({error})") from error
    if not isinstance(value, dict):
        raise AlbertineError(f"{file}: an object was expected, not {type(value).__name__}")
    return value


def whole(options: Mapping[str, Any], name: str, file: str, default: int | None = None) -> int:
    """A whole number from a config."""
    value = options.get(name, default)
    if value is None:
        raise AlbertineError(f"{file}: {name} is missing")
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**31:
        raise AlbertineError(f"{file}: {name} has to be a whole number, not {value!r}")
    return value


def number(options: Mapping[str, Any], name: str, file: str, default: float) -> float:
    """A real number from a config."""
    value = options.get(name, default)
    if value is None:
        return default
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise AlbertineError(f"{file}: {name} has to be a number, not {value!r}")
    return float(value)
