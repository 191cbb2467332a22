"""What a `tokenizer.json` from a stranger may not do: take exponential time, or grow texts without end.

Thirty steps that each double a letter make a gigabyte of it, and the library aborts the process when
memory runs out. So the growth of all replacements together is bounded.
"""

from __future__ import annotations

import base64
import binascii
from typing import Any

from albertine.errors import AlbertineError
from albertine.tokenizer.patterns import harmless

_GROWTH = 256.0  # times; the published normalisation rules alone make 33 bytes of one character


def check_untrusted(tokenizer: dict[str, Any], what: str) -> None:
    """Refuse patterns that are neither plain nor known, and replacements that multiply text."""
    growth = 1.0
    waiting: list[Any] = [tokenizer]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, dict):
            waiting.extend(value.values())
            growth *= _growth(value, what)
            if "Regex" in value and not harmless(value["Regex"]):
                raise AlbertineError(
                    f"{what}: the pattern {str(value['Regex'])[:80]!r} may take exponential time; "
                    "load it with trust=True if you know who wrote it"
                )
            if growth > _GROWTH:
                raise AlbertineError(
                    f"{what}: its replacements multiply the length of a text; "
                    "load it with trust=True if you know who wrote it"
                )


def _growth(step: dict[str, Any], what: str) -> float:
    """By how much one step can lengthen a text."""
    match step:
        case {"type": "Replace", "pattern": {"String": str(old)}, "content": str(new)}:
            return max(1.0, len(new) / len(old) if old else len(new) + 1.0)
        case {"type": "Replace", "content": str(new)}:
            return len(new) + 1.0
        case {"type": "Prepend", "prepend": str(new)}:
            return len(new) + 1.0
        case {"type": "Precompiled", "precompiled_charsmap": str(encoded)}:
            return _charsmap_growth(encoded, what)
    return 1.0


def _charsmap_growth(encoded: str, what: str) -> float:
    try:
        charsmap = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError) as error:
        raise AlbertineError(f"{what}: damaged normalisation rules") from error
    return longest_replacement(charsmap, what)


def longest_replacement(charsmap: bytes, what: str) -> float:
    """Bytes of the longest replacement in SentencePiece's rules: a sized trie, then strings that end in 0."""
    trie = int.from_bytes(charsmap[:4], "little")
    if len(charsmap) < 8 or trie % 4 or not 4 <= trie <= len(charsmap) - 4:
        raise AlbertineError(f"{what}: damaged normalisation rules")
    return max(1.0, *map(len, charsmap[4 + trie :].split(b"\0")))
