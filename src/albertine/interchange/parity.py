"""The proof that ends every conversion: source and target computed side by side on random input."""

from __future__ import annotations

import importlib.util
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from albertine.errors import AlbertineError
from albertine.files import read_json
from albertine.interchange.checkpoint import Checkpoint, build
from albertine.interchange.huggingface.config_json import has_pretraining_heads
from albertine.interchange.stock_forward import StockForward, StockOutput
from albertine.model.model import Model

# Largest absolute difference that float32 accounts for; logits of wide models scale with their width.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Parity:
    """What was compared, by what, and how far apart the two computations were."""

    by: str  # "transformers 5.23.0", or "albertine's stock forward pass"
    states: float
    words: float | None
    pairs: float | None
    scale: float  # the largest magnitude compared; the tolerance is relative to it above 1

    @property
    def worst(self) -> float:
        return max(x for x in (self.states, self.words, self.pairs) if x is not None)

    @property
    def holds(self) -> bool:
        return self.worst <= TOLERANCE * max(1.0, self.scale)  # a NaN compares as False: it does not hold


def compare(source: Checkpoint, target: Path, *, batch: int = 2, length: int = 24) -> Parity:
    """Run the source by our model and the target by stock code on the same random tokens, in float32."""
    torch.manual_seed(0)
    config = source.config
    length = min(length, config.max_positions)
    ids = torch.randint(0, config.vocab_size, (batch, length))
    ids[ids == config.pad_id] = (config.pad_id + 1) % config.vocab_size
    mask = torch.ones_like(ids)
    mask[-1, 2 * length // 3 :] = 0
    ids[mask == 0] = config.pad_id
    segments = (torch.arange(length) > length // 2).long().expand_as(ids) if config.num_types > 1 else ids * 0
    with torch.inference_mode():
        ours = _ours(build(source, torch.float32), ids, mask, segments)
        by, theirs = _stock(target, ids, mask, segments)
    real = mask.bool()
    pairs = None if ours.pairs_B2 is None else _difference(ours.pairs_B2, theirs.pairs_B2)
    words = (
        None if ours.words_BTV is None or theirs.words_BTV is None else (ours.words_BTV[real], theirs.words_BTV[real])
    )
    return Parity(
        by,
        _gap(ours.states_BTH[real], theirs.states_BTH[real]),
        None if words is None else _gap(*words),
        pairs,
        float(ours.states_BTH[real].abs().max() if words is None else words[0].abs().max()),
    )


def _gap(left: Tensor, right: Tensor) -> float:
    return float((left - right).abs().max())


def _difference(left: Tensor, right: Tensor | None) -> float | None:
    return None if right is None else _gap(left, right)


def _ours(model: Model, ids: Tensor, mask: Tensor, segments: Tensor) -> StockOutput:
    states = model(ids, mask, segments, pack=False).states_BTH
    everywhere = torch.arange(ids.numel())
    words = model.masked_words(states, everywhere).view(*ids.shape, -1) if model.mlm is not None else None
    return StockOutput(states, words, model.pairs(states) if model.pair is not None else None)


def _stock(target: Path, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[str, StockOutput]:
    if importlib.util.find_spec("transformers") is None:
        return "albertine's stock forward pass", StockForward(target)(ids, mask, segments)
    return _transformers(target, ids, mask, segments)


def _transformers(target: Path, ids: Tensor, mask: Tensor, segments: Tensor) -> tuple[str, StockOutput]:
    import transformers

    options = read_json(target / "config.json")
    stock = getattr(transformers, options["architectures"][0])
    with _quiet():
        model, report = stock.from_pretrained(
            str(target), dtype=torch.float32, output_loading_info=True, attn_implementation="eager"
        )
    missing = sorted(name for name in report["missing_keys"] if "pooler" not in name)
    if missing:
        raise AlbertineError(f"stock transformers misses {missing[0]} ({len(missing)} tensors) in what was written")
    if options["type_vocab_size"] == 1:
        segments = torch.zeros_like(segments)
    out = model.eval()(input_ids=ids, attention_mask=mask, token_type_ids=segments, output_hidden_states=True)
    by = f"transformers {transformers.__version__}"
    if not has_pretraining_heads(options):
        return by, StockOutput(out.last_hidden_state)
    pairs = next((out[k] for k in ("sop_logits", "seq_relationship_logits") if k in out), None)
    words = next(out[k] for k in ("prediction_logits", "logits") if k in out)
    states = model.base_model(input_ids=ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
    return by, StockOutput(states, words, pairs)


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
