"""fairseq's `dict.txt`: a symbol and its count a line, after four symbols that are not in the file."""

from __future__ import annotations

from pathlib import Path

from albertine.errors import AlbertineError
from albertine.files import read_lines

NAMES = {"pad": "<pad>", "unk": "<unk>", "cls": "<s>", "sep": "</s>", "mask": "<mask>"}
_FIRST = ("<s>", "<pad>", "</s>", "<unk>")
_OVERWRITE = "#fairseq:overwrite"


def read_dict(path: Path) -> dict[str, int]:
    """Symbol → id; masked-language models add `<mask>` at the end."""
    symbols = {symbol: index for index, symbol in enumerate(_FIRST)}
    for number, line in enumerate(read_lines(path), start=1):
        symbol, _, count = line.rstrip().rpartition(" ")
        overwrites = count == _OVERWRITE
        if overwrites:
            symbol, _, count = symbol.rpartition(" ")
        if not symbol or not count.isdecimal():
            raise AlbertineError(f"{path}: line {number} is not a symbol and its count")
        if symbol in symbols and not overwrites:
            raise AlbertineError(f"{path}: line {number} repeats {symbol[:40]!r}")
        symbols.setdefault(symbol, len(symbols))
    if len(symbols) == len(_FIRST):
        raise AlbertineError(f"{path}: an empty dictionary")
    symbols.setdefault("<mask>", len(symbols))
    return symbols
