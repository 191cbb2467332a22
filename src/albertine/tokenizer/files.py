"""Reading what others wrote: bounded, checked, and every failure names the file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from albertine.errors import AlbertineError

MAX_BYTES = 256 * 2**20  # the largest published tokenizers are about 35 MB


def read_bytes(path: Path) -> bytes:
    """The whole file, unless it is absurdly large."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise AlbertineError(f"{path}: cannot be read ({error.strerror or error})") from error
    if len(data) > MAX_BYTES:
        raise AlbertineError(f"{path}: more than {MAX_BYTES >> 20} MiB is no tokenizer file")
    return data


def read_lines(path: Path) -> list[str]:
    """The lines of a UTF-8 file; only line feeds end one, as some vocabularies hold other separators."""
    data = read_bytes(path)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise AlbertineError(f"{path}: byte {error.start} is not UTF-8 text") from error
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


@contextmanager
def guarded(what: str) -> Iterator[None]:
    """Turn whatever the tokenizers library raises into one line.

    Its panics are no `Exception`, so only a person's interrupt and an exit pass through.
    """
    try:
        yield
    except (AlbertineError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        raise AlbertineError(f"{what}: {str(error)[:200] or type(error).__name__}") from error
