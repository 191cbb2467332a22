"""What the tokenizers library raises, as errors that a person can read."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from albertine.errors import AlbertineError


@contextmanager
def guarded(what: str) -> Generator[None]:
    """Turn whatever the tokenizers library raises into one line.

    Its panics are no `Exception`, so only a person's interrupt and an exit pass through.
    """
    try:
        yield
    except (AlbertineError, KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError):
        raise
    except BaseException as error:
        raise AlbertineError(f"{what}: {str(error)[:200] or type(error).__name__}") from error
