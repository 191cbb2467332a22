"""Where the special tokens go: read once from a tokenizer, applied by our own code.

The rule for digits and commas changes lengths after segmentation, so truncation and special tokens
have to come after it; the library would put them before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tokenizers import processors

from albertine.errors import AlbertineError

Style = Literal["bert", "roberta", "xlnet", "none"]
Slot = tuple[int | Literal["A", "B"], int]  # a token's id, or where a text goes; its segment


@dataclass(frozen=True)
class Template:
    """The layouts of one text and of a pair."""

    single: tuple[Slot, ...] = (("A", 0),)
    pair: tuple[Slot, ...] = (("A", 0), ("B", 0))

    @property
    def uses_segments(self) -> bool:
        return any(segment for _, segment in self.pair)

    def overhead(self, *, pair: bool) -> int:
        """How many special tokens a filled layout holds."""
        return sum(isinstance(source, int) for source, _ in (self.pair if pair else self.single))

    def fill(self, first: list[int], second: list[int] | None) -> tuple[list[int], list[int]]:
        """Token ids and their segments."""
        ids: list[int] = []
        segments: list[int] = []
        for source, segment in self.single if second is None else self.pair:
            tokens = [source] if isinstance(source, int) else (first if source == "A" else second or [])
            ids += tokens
            segments += [segment] * len(tokens)
        return ids, segments


_LAYOUTS: dict[str, tuple[str, str]] = {
    "bert": ("{cls}:0 $A:0 {sep}:0", "{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1"),
    "roberta": ("{cls}:0 $A:0 {sep}:0", "{cls}:0 $A:0 {sep}:0 {sep}:0 $B:0 {sep}:0"),
    "xlnet": ("$A:0 {sep}:0 {cls}:2", "$A:0 {sep}:0 $B:1 {sep}:1 {cls}:2"),
}


def processor(style: Style, cls: tuple[str, int], sep: tuple[str, int]) -> processors.PostProcessor:
    """The library's form of a published layout; `cls` and `sep` are tokens with their ids."""
    single, pair = (layout.format(cls=cls[0], sep=sep[0]) for layout in _LAYOUTS[style])
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=[cls, sep])


def read_template(post: Any, what: str) -> Template:
    """The layout that a `tokenizer.json` describes under `post_processor`."""
    match post:
        case None | {"type": "ByteLevel"}:
            return Template()
        case {"type": "Sequence", "processors": [*parts]}:
            return next((t for part in parts if (t := read_template(part, what)) != Template()), Template())
        case {"type": "BertProcessing", "sep": [str(), int(sep)], "cls": [str(), int(cls)]}:
            return Template(((cls, 0), ("A", 0), (sep, 0)), ((cls, 0), ("A", 0), (sep, 0), ("B", 1), (sep, 1)))
        case {"type": "RobertaProcessing", "sep": [str(), int(sep)], "cls": [str(), int(cls)]}:
            pair: tuple[Slot, ...] = ((cls, 0), ("A", 0), (sep, 0), (sep, 0), ("B", 0), (sep, 0))
            return Template(((cls, 0), ("A", 0), (sep, 0)), pair)
        case {
            "type": "TemplateProcessing",
            "single": [*single],
            "pair": [*pair_],
            "special_tokens": dict(known),
        }:
            return Template(_slots(single, known, what), _slots(pair_, known, what))
    raise AlbertineError(f"{what}: its post_processor is of no known kind")


def _slots(pieces: list[Any], known: dict[str, Any], what: str) -> tuple[Slot, ...]:
    slots: list[Slot] = []
    for piece in pieces:
        match piece:
            case {"Sequence": {"id": "A" | "B" as source, "type_id": int(segment)}}:
                slots.append((source, segment))
            case {"SpecialToken": {"id": str(name), "type_id": int(segment)}} if name in known:
                slots += [(token, segment) for token in _token_ids(known[name], what)]
            case _:
                raise AlbertineError(f"{what}: its post_processor has an unknown piece {str(piece)[:60]!r}")
    return tuple(slots)


def _token_ids(entry: Any, what: str) -> list[int]:
    match entry:
        case {"ids": [*ids]} if all(isinstance(token, int) for token in ids):
            return ids
    raise AlbertineError(f"{what}: its post_processor has a special token without ids")
