"""The papers' numbers as data, each with ours beside it (ALBERT, arXiv 1909.11942, Tables 1 to 4).

The papers round to millions and count two ways: rows without sharing fit an encoder without its pooler,
shared rows one with it. Both are shown; the difference is to the variant that the paper used. The
vocabulary is ALBERT's 30 000 words, for BERT's rows as well, and with E = H there is no E→H map.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from albertine.config import EncoderConfig
from albertine.plan import flops, parameters
from albertine.plan.parameters import Parameters
from albertine.plan.units import percent, spaced
from albertine.presets import preset
from albertine.sharing import Sharing

VOCABULARY = 30_000
LENGTH = 512  # of the sequences that Table 2 was timed on


@dataclass(frozen=True)
class Cell:
    """One parameter count of a table: the paper's, and both of ours."""

    table: str
    row: str
    paper_millions: int
    shared: bool
    with_pooler: int
    without_pooler: int
    note: str = ""

    @property
    def ours(self) -> int:
        """The variant that the paper's row counts."""
        return self.with_pooler if self.shared else self.without_pooler

    @property
    def difference(self) -> int:
        return self.ours - self.paper_millions * 10**6

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "ours": self.ours, "difference": self.difference}


@dataclass(frozen=True)
class Speed:
    """How fast a model trains beside another: the paper's clock, and our operations."""

    row: str
    to_bert_large: float | None  # Table 2 as published
    to_bert_xlarge: float | None  # Table 2 of the first version
    operations_to_bert_large: float
    operations_to_bert_xlarge: float


@dataclass(frozen=True)
class Claim:
    """A statement about sizes that the papers or the notes on them make."""

    what: str
    claimed: str
    ours: str


XXLARGE_NOTE = "the paper's own discrepancy: the weights hold 222.6M; its table of widths says 225M for them"
XLARGE_NOTE = "the weights hold 58.7M: rounded up to tens"

_TABLE_1 = (
    # row, preset, millions, note
    ("BERT base", "bert-base-uncased", 108, ""),
    ("BERT large", "bert-large-uncased", 334, ""),
    ("BERT xlarge", "bert-xlarge-paper", 1270, ""),
    ("ALBERT base", "albert-base-v2", 12, ""),
    ("ALBERT large", "albert-large-v2", 18, ""),
    ("ALBERT xlarge", "albert-xlarge-v2", 60, XLARGE_NOTE),
    ("ALBERT xxlarge", "albert-xxlarge-v2", 235, XXLARGE_NOTE),
)
_TABLE_2: dict[str, tuple[float | None, float | None]] = {
    # row: speed with BERT large = 1, with BERT xlarge = 1
    "BERT base": (4.7, 17.7),
    "BERT large": (1.0, None),
    "BERT xlarge": (None, 1.0),
    "ALBERT base": (5.6, 21.1),
    "ALBERT large": (1.7, 6.5),
    "ALBERT xlarge": (0.6, 2.4),
    "ALBERT xxlarge": (0.3, 1.2),
}
_TABLE_3 = {"none": {64: 87, 128: 89, 256: 93, 768: 108}, "all": {64: 10, 128: 12, 256: 16, 768: 31}}
_TABLE_4 = {
    768: {"all": 31, "attention": 83, "ffn": 57, "none": 108},
    128: {"all": 12, "attention": 64, "ffn": 38, "none": 89},
}
_SHARED = {"all": "all-shared", "attention": "shared-attention", "ffn": "shared-FFN", "none": "not-shared"}


def base(embedding_size: int, sharing: str) -> EncoderConfig:
    """The base model of Tables 3 and 4 with this embedding width and this sharing."""
    albert = preset("albert-base-v2")
    projection = "none" if embedding_size == albert.hidden_size else "affine"
    return albert.with_(embedding_size=embedding_size, sharing=sharing, projection=projection)


def _cell(table: str, row: str, millions: int, config: EncoderConfig, note: str = "") -> Cell:
    owned = parameters.count(config)
    shared = config.sharing != Sharing("none")
    return Cell(table, row, millions, shared, owned.backbone, owned.without_pooler, note)


def _of_table_1(name: str) -> EncoderConfig:
    return preset(name).with_(vocab_size=VOCABULARY)


def table_1() -> list[Cell]:
    return [_cell("1", row, millions, _of_table_1(name), note) for row, name, millions, note in _TABLE_1]


def table_3() -> list[Cell]:
    return [
        _cell("3", f"{_SHARED[sharing]}, E={size}", millions, base(size, sharing))
        for sharing, sizes in _TABLE_3.items()
        for size, millions in sizes.items()
    ]


def table_4() -> list[Cell]:
    return [
        _cell("4", f"E={size}, {_SHARED[sharing]}", millions, base(size, sharing))
        for size, plans in _TABLE_4.items()
        for sharing, millions in plans.items()
    ]


def table_2() -> list[Speed]:
    """Training operations per token, inverted: equal work would mean equal speed."""
    work = {row: flops.count(_of_table_1(name), LENGTH).training() for row, name, *_ in _TABLE_1}
    speeds: list[Speed] = []
    for row, operations in work.items():
        to_large, to_xlarge = _TABLE_2[row]
        large, xlarge = work["BERT large"] / operations, work["BERT xlarge"] / operations
        speeds.append(Speed(row, to_large, to_xlarge, large, xlarge))
    return speeds


def claims() -> list[Claim]:
    """The arithmetic of the papers and of the notes on them, done again with exact counts."""
    bert = parameters.count(_of_table_1("bert-base-uncased"))
    xxlarge, large = (parameters.count(_of_table_1(name)) for name in ("albert-xxlarge-v2", "bert-large-uncased"))
    rule = 12 * 12 * 768**2
    return [
        Claim("word table, V·H", spaced(23_040_000), spaced(VOCABULARY * 768)),
        Claim(
            "factorised, V·E + E·H",
            spaced(3_938_304),
            spaced(VOCABULARY * 128 + 128 * 768),
        ),
        Claim("BERT-base layers, 12·L·H²", spaced(rule), f"{spaced(bert.blocks)} exactly"),
        Claim("attention + feed-forward in BERT-base", "about 80 %", _blocks_share(bert)),
        Claim("saved by factorising, E=128", "17 %", _saved(bert, base(128, "none"))),
        Claim("saved by sharing, E=768", "70 %", _saved(bert, base(768, "all"))),
        Claim("saved by both", "88 %", _saved(bert, base(128, "all"))),
        Claim("ALBERT-xxlarge of BERT-large", "70 %", percent(xxlarge.backbone / large.backbone)),
    ]


def saved_share(before: Parameters, after: EncoderConfig) -> float:
    """The share of the parameters that goes away, poolers on both sides."""
    return 1 - parameters.count(after).backbone / before.backbone


def _saved(before: Parameters, after: EncoderConfig) -> str:
    return percent(saved_share(before, after))


def _blocks_share(owned: Parameters) -> str:
    attention, ffn = (percent(part / owned.backbone) for part in (owned.attention, owned.ffn))
    return f"{percent(owned.blocks / owned.backbone)} = {attention} + {ffn}"


def to_dict() -> dict[str, Any]:
    return {
        "table_1": [cell.to_dict() for cell in table_1()],
        "table_2": [asdict(row) for row in table_2()],
        "table_3": [cell.to_dict() for cell in table_3()],
        "table_4": [cell.to_dict() for cell in table_4()],
        "claims": [asdict(claim) for claim in claims()],
    }
