"""Which regular expressions of an unknown file may run.

A pattern like `(a+)+$` takes exponential time on a short text. Patterns are accepted when they are
plain: no repeated group, no back reference, and in every alternative at most two repetitions, of which
one has no upper bound. Widely used ones that are not plain but known to be harmless are listed.
"""

from __future__ import annotations

import re
from typing import Any

# Llama 3's and GPT-4's patterns (up to three digits together), Qwen's (every digit alone).
KNOWN = frozenset(
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|"
    + digits
    + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    for digits in (r"\p{N}{1,3}", r"\p{N}")
)

_TOKEN = re.compile(
    r"""(?P<escape>\\(?:[pP]\{[\^\w]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|x\{[0-9A-Fa-f]+\}|[^1-9gkpPxuKRX]))
      |(?P<class>\[\^?\]?(?:\\.|[^\\\[\]])*\])
      |(?P<open>\((?:\?(?:i?:|=|!))?(?!\?|\*))
      |(?P<close>\))
      |(?P<either>\|)
      |(?P<unbounded>\*|\+|\{\d*,\})
      |(?P<bounded>\?|\{\d{1,3}\}|\{\d{1,3},\d{1,3}\})
      |(?P<literal>[^\\(){}\[|*+?])""",
    re.VERBOSE | re.DOTALL,
)


def harmless(pattern: Any) -> bool:
    """Whether an unknown file may bring this pattern along."""
    return isinstance(pattern, str) and (pattern in KNOWN or plain(pattern))


def plain(pattern: str) -> bool:
    """Whether matching takes time proportional to the text at every starting point."""
    worst = (0, 0)  # repetitions and unbounded ones: of this alternative, at worst of its siblings
    current, outer = (0, 0), []
    position, previous = 0, ""
    while position < len(pattern):
        match = _TOKEN.match(pattern, position)
        if match is None:
            return False
        position, kind = match.end(), match.lastgroup
        if kind == "open":
            outer.append((current, worst))
            current, worst = (0, 0), (0, 0)
        elif kind == "either":
            worst, current = _worse(worst, current), (0, 0)
        elif kind == "close":
            if not outer:
                return False
            inside = _worse(worst, current)
            before, worst = outer.pop()
            current = (before[0] + inside[0], before[1] + inside[1])
        elif kind in ("unbounded", "bounded"):
            if previous not in ("escape", "class", "literal"):
                return False
            current = (current[0] + 1, current[1] + (kind == "unbounded"))
        if current[0] > 2 or current[1] > 1:
            return False
        previous = kind or ""
    return not outer


def _worse(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return max(one[0], other[0]), max(one[1], other[1])
