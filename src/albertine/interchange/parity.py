"""The proof that ends every conversion: source and target computed side by side on random input."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from albertine.errors import AlbertineError
from albertine.files import read_json
from albertine.interchange.checkpoint import Checkpoint, build
from albertine.interchange.huggingface.config_json import has_pretraining_heads
from albertine.interchange.huggingface.stock import StockForm
from albertine.interchange.stock_forward import StockForward
from albertine.model.model import Model

# Largest difference that float32 accounts for, as a share of the largest magnitude compared, if that is above 1.
TOLERANCE = 1e-5

Parts = dict[str, Tensor]  # what a model computes, by the name it has in the report


@dataclass(frozen=True)
class Gap:
    """How far apart two computations of one part were."""

    largest: float
    magnitude: float  # of the largest number compared

    @property
    def holds(self) -> bool:
        return isfinite(self.magnitude) and self.largest <= TOLERANCE * max(1.0, self.magnitude)


@dataclass(frozen=True)
class Parity:
    """What was compared, by what, and how far apart the two computations were."""

    by: str  # "transformers 5.23.0", or "albertine's stock forward pass"
    parts: dict[str, Gap]

    @property
    def worst(self) -> float:
        gaps = [gap.largest for gap in self.parts.values()]
        return max(gaps) if all(map(isfinite, gaps)) else float("nan")

    @property
    def holds(self) -> bool:
        return all(gap.holds for gap in self.parts.values())


@dataclass(frozen=True)
class _Input:
    """Random tokens: a short batch with padding and segments, and one sequence over every position."""

    ids_BT: Tensor
    mask_BT: Tensor
    segments_BT: Tensor
    long_1P: Tensor


def compare(source: Checkpoint, target: Path, form: StockForm) -> Parity:
    """Run the source by our model and the target by stock code on the same random tokens, in float32."""
    given = _input(source)
    with torch.inference_mode():
        ours = _ours(build(source, torch.float32), given)
        by, theirs = _stock(target, given)
    if "pair.weight" in form.kept:
        ours.pop("pairs", None)  # a head that the stock model has no place for, said so in the form's notes
    lost = ours.keys() - theirs.keys()
    if lost:
        raise AlbertineError(f"{by} computes no {', '.join(sorted(lost))} from what was written")
    gaps = {name: Gap(_largest(ours[name] - theirs[name]), _largest(ours[name])) for name in ours}
    return Parity(by, gaps)


def _largest(values: Tensor) -> float:
    return float(values.abs().max())


def _input(source: Checkpoint, batch: int = 2, length: int = 24) -> _Input:
    generator = torch.Generator().manual_seed(0)
    config = source.config
    length = min(length, config.max_positions)

    def draw(*shape: int) -> Tensor:
        ids = torch.randint(0, config.vocab_size, shape, generator=generator)
        return torch.where(ids == config.pad_id, (config.pad_id + 1) % config.vocab_size, ids)

    ids, mask = draw(batch, length), torch.ones(batch, length, dtype=torch.long)
    mask[-1, max(1, 2 * length // 3) :] = 0
    ids[mask == 0] = config.pad_id
    segments = (torch.arange(length) % max(config.num_types, 1)).sort().values.expand_as(ids)
    return _Input(ids, mask, segments, draw(1, config.max_positions))


def _ours(model: Model, given: _Input) -> Parts:
    real = given.mask_BT.bool()
    states = model(given.ids_BT, given.mask_BT, given.segments_BT, pack=False).states_BTH
    parts = {"embeddings": model.embedding_output(given.long_1P), "states": states[real]}
    if model.mlm is not None:
        parts["masked words"] = model.masked_words(states, real.flatten().nonzero().squeeze(1))
    if model.pair is not None:
        parts["pairs"] = model.pairs(states)
    return parts


def _stock(target: Path, given: _Input) -> tuple[str, Parts]:
    if importlib.util.find_spec("transformers") is None:
        return "albertine's stock forward pass", _by_hand(target, given)
    return _by_transformers(target, given)


def _by_hand(target: Path, given: _Input) -> Parts:
    stock, real = StockForward(target), given.mask_BT.bool()
    out = stock(given.ids_BT, given.mask_BT, given.segments_BT)
    parts = {"embeddings": stock.embed(given.long_1P, torch.zeros_like(given.long_1P)), "states": out.states_BTH[real]}
    if out.words_BTV is not None:
        parts["masked words"] = out.words_BTV[real]
    if out.pairs_B2 is not None:
        parts["pairs"] = out.pairs_B2
    return parts


def _by_transformers(target: Path, given: _Input) -> tuple[str, Parts]:
    import transformers

    options = read_json(target / "config.json")
    model = _load(getattr(transformers, options["architectures"][0]), target)
    real = given.mask_BT.bool()
    segments = given.segments_BT if options["type_vocab_size"] > 1 else torch.zeros_like(given.segments_BT)
    tokens = {"input_ids": given.ids_BT, "attention_mask": given.mask_BT, "token_type_ids": segments}
    base: Any = model.base_model
    parts = {
        "embeddings": base.embeddings(input_ids=given.long_1P, token_type_ids=torch.zeros_like(given.long_1P)),
        "states": base(**tokens).last_hidden_state[real],
    }
    if has_pretraining_heads(options):
        out = model(**tokens)
        parts["masked words"] = next(out[name] for name in ("prediction_logits", "logits") if name in out)[real]
        pairs = [out[name] for name in ("sop_logits", "seq_relationship_logits") if name in out]
        parts |= {"pairs": pairs[0]} if pairs else {}
    return f"transformers {transformers.__version__}", parts


def _load(stock: type, target: Path) -> torch.nn.Module:
    """The stock model, if every one of its tensors is in the file and every one of the file's is in it."""
    with _quiet():
        model, report = stock.from_pretrained(  # type: ignore[attr-defined]
            str(target), dtype=torch.float32, output_loading_info=True, attn_implementation="eager"
        )
    for fault, names in (("misses", report["missing_keys"]), ("does not know", report["unexpected_keys"])):
        wrong = sorted(name for name in names if "pooler" not in name)  # its masked-word classes go without
        if wrong:
            raise AlbertineError(f"stock transformers {fault} {wrong[0]} ({len(wrong)} tensors) in what was written")
    return model.eval()


@contextmanager
def _quiet() -> Generator[None]:
    """Without transformers' progress bars and remarks; what is missing is checked here."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()
