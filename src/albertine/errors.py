"""The one error that a person is meant to read.

Everything that can be wrong with a file, a name or an option is raised as `AlbertineError`
with one line that says what is wrong, where, and what to do. The command line prints that line
and exits with code 2; any other exception is a defect of ours.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from difflib import get_close_matches


class AlbertineError(Exception):
    """Something that the caller can mend; `str(error)` is one line."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


@contextmanager
def about(file: object) -> Generator[None]:
    """Name the file that an option came from, in whatever is wrong with the option."""
    try:
        yield
    except AlbertineError as error:
        named = str(error).startswith(str(file))
        raise (error if named else AlbertineError(f"{file}: {error}")) from None


def did_you_mean(name: str, known: list[str]) -> str:
    """` Did you mean X?`, or nothing when no known name is close."""
    close = get_close_matches(name, known, n=1, cutoff=0.55)
    return f" Did you mean {close[0]!r}?" if close else ""
