"""Any known checkpoint → a directory that stock `transformers` opens, with a proof that it computes the same."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import torch

from albertine.errors import AlbertineError
from albertine.interchange.checkpoint import Checkpoint
from albertine.interchange.folder import Format, read_folder, write_folder
from albertine.interchange.huggingface.stock import StockForm
from albertine.interchange.parity import TOLERANCE, Gap, Parity, compare
from albertine.interchange.recognise import read_checkpoint
from albertine.model.shapes import count
from albertine.tokenizer import Tokenizer


@dataclass
class Conversion:
    """What was done, for people and for `--json`."""

    source: str
    target: Path
    stock: str | None  # the stock model type; None in albertine's own format
    parameters: int
    seconds: float
    parity: Parity | None = None
    tokenizer: str | None = None
    fills: bool = False  # whether the encoder can fill in masked words
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """For `--json`, with the proof's verdict spelled out."""
        found = {**asdict(self), "target": str(self.target)}
        if self.parity is not None:
            found["parity"] |= {"worst": self.parity.worst, "tolerance": TOLERANCE, "holds": self.parity.holds}
        return found


def convert(
    source: Path,
    target: Path,
    *,
    to: Format = "huggingface",
    tokenizer: Path | Literal[False] | None = None,
    overwrite: bool = False,
    parity: bool = True,
    overrides: Mapping[str, Any] | None = None,
) -> Conversion:
    """Read, write, compare. Nothing appears at `target` unless all of it went well."""
    start = time.perf_counter()
    checkpoint = read_checkpoint(source, overrides)
    here, there = source.absolute(), target.absolute()
    if (target.exists() and here.is_relative_to(there)) or (source.is_dir() and there.is_relative_to(here)):
        raise AlbertineError(f"{target}: source and target lie in one another; give another name")
    fitting = load_tokenizer(checkpoint, tokenizer)
    proof: list[Parity] = []

    def prove(work: Path, form: StockForm | None) -> None:
        proof.append(compare(checkpoint, work, form) if form else compare_bytes(checkpoint, work))
        if not proof[0].holds:
            raise AlbertineError(
                f"{target}: not written, because it would not compute what {source} computes: largest "
                f"difference {proof[0].worst:.2e} against {proof[0].by}, tolerance {TOLERANCE:g}"
            )

    form = write_folder(
        checkpoint,
        target,
        tokenizer=fitting,
        to=to,
        overwrite=overwrite,
        before_publishing=prove if parity else None,
    )
    return Conversion(
        checkpoint.source,
        target,
        form.family if form else None,
        count(checkpoint.config),
        time.perf_counter() - start,
        proof[0] if proof else None,
        fitting.kind if fitting else None,
        checkpoint.config.mlm_head != "none",
        checkpoint.notes + (form.notes if form else []) + (fitting.notes if fitting else []),
        checkpoint.left_out,
    )


def compare_bytes(checkpoint: Checkpoint, work: Path) -> Parity:
    """Our own format holds the tensors themselves: they are read back and compared as they stand."""
    back = read_folder(work)
    same = back.config == checkpoint.config
    for name, lazy in checkpoint.tensors.items():
        same = same and torch.equal(lazy.read(), back.tensors[name].read())
    return Parity("the tensors read back", {"bytes": Gap(0.0 if same else float("inf"), 0.0)})


def load_tokenizer(checkpoint: Checkpoint, given: Path | Literal[False] | None = None) -> Tokenizer | None:
    """The tokenizer given, or the one that lies with the checkpoint, if its ids fit the vocabulary; False: none."""
    if given is False:
        return None
    path = given or checkpoint.tokenizer
    if path is None or (given is None and path.is_dir() and not Tokenizer.lies_in(path)):
        return None
    tokenizer = Tokenizer.load(path)
    if tokenizer.vocab_size > checkpoint.config.vocab_size:
        raise AlbertineError(
            f"{path}: {tokenizer.vocab_size} tokens, but the encoder's vocabulary has "
            f"{checkpoint.config.vocab_size} rows; name the right one with --tokenizer"
        )
    if tokenizer.vocab_size < checkpoint.config.vocab_size:
        rows = checkpoint.config.vocab_size
        tokenizer.notes.append(f"the tokenizer has {tokenizer.vocab_size} tokens for the vocabulary's {rows} rows")
    return tokenizer
