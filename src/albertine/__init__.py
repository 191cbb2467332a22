"""Albertine: encoders of the ALBERT family.

    import albertine as al

    encoder = al.load("path-or-hub-id")

Names are imported when they are first used: `import albertine` itself costs a few milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from albertine._version import __version__
from albertine.errors import AlbertineError

if TYPE_CHECKING:
    from albertine.config import EncoderConfig
    from albertine.encoder import Encoder, Guess, load
    from albertine.presets import preset
    from albertine.tokenizer import Tokenizer

__all__ = [
    "AlbertineError",
    "Encoder",
    "EncoderConfig",
    "Guess",
    "Tokenizer",
    "__version__",
    "load",
    "preset",
]

_HOMES = {
    "Encoder": "albertine.encoder",
    "EncoderConfig": "albertine.config",
    "Guess": "albertine.encoder",
    "Tokenizer": "albertine.tokenizer",
    "load": "albertine.encoder",
    "preset": "albertine.presets",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'albertine' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
