"""Counts and bytes as people read them."""

from __future__ import annotations


def spaced(count: int) -> str:
    """Digits in threes, with spaces that do not break."""
    return f"{count:,}".replace(",", "\u00a0")


def scale(amount: float) -> str:
    """`11.7M`, `1.27G`: powers of a thousand, three digits."""
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(amount) >= factor:
            return f"{_three(amount / factor)}{unit}"
    return _three(amount)


def gib(count: float) -> str:
    """`21.5 GiB`: powers of 1024, as accelerators are sold."""
    for factor, unit in ((2**50, "PiB"), (2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= factor:
            return f"{_three(count / factor)} {unit}"
    return f"{count:.0f} B"


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _three(amount: float) -> str:
    if abs(amount) >= 100:
        return f"{amount:.0f}"
    return f"{amount:.1f}" if abs(amount) >= 10 else f"{amount:.2f}"
