"""An encoder with its tokenizer, ready to use.

import albertine as al

encoder = al.load("path-or-hub-id")
encoder.fill("The capital of France is [MASK].")
vectors = encoder.encode(["one text", "another"])
encoder.save_pretrained("folder")
"""

# torch annotates its own methods in part only.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from albertine.config import EncoderConfig
from albertine.errors import AlbertineError
from albertine.hub import resolve
from albertine.interchange.checkpoint import build, snapshot
from albertine.interchange.convert import load_tokenizer
from albertine.interchange.folder import Format, write_folder
from albertine.interchange.pooling import Pooling
from albertine.interchange.recognise import read_checkpoint
from albertine.model.model import Model
from albertine.tokenizer import Tokenizer

Mode = Literal["mean", "cls", "max"]


@dataclass(frozen=True)
class Guess:
    """One candidate for a masked place."""

    token: str
    id: int
    probability: float


def load(
    path_or_hub_id: str | Path,
    *,
    tokenizer: str | Path | Tokenizer | Literal[False] | None = None,
    device: str | torch.device = "cpu",
    dtype: torch.dtype | None = None,
    **options: Any,
) -> Encoder:
    """The encoder at a path (any format that is known) or on the hub, in its own precision or in `dtype`.

    Its tokenizer is the one that lies with it, or the one given; False does without. `options` correct a config
    that is wrong (`activation="gelu_tanh"`, `num_heads=32`, `norm="pre"`).
    """
    checkpoint = read_checkpoint(resolve(path_or_hub_id), options)
    if isinstance(tokenizer, str | Path):
        tokenizer = load_tokenizer(checkpoint, Path(tokenizer))
    elif tokenizer is None:
        tokenizer = load_tokenizer(checkpoint)
    model = build(checkpoint, dtype)
    try:
        model = model.to(device)
    except (RuntimeError, AssertionError) as error:
        raise AlbertineError(f"the model cannot be placed on {device}: {str(error).splitlines()[0]}") from error
    return Encoder(model, tokenizer or None, pooling=checkpoint.pooling, source=checkpoint.source)


class Encoder:
    """A model, the tokenizer that belongs to it, and how its sentence vectors are pooled."""

    def __init__(
        self,
        model: Model,
        tokenizer: Tokenizer | None,
        *,
        pooling: Pooling | None = None,
        source: str = "albertine",
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.source = source
        self._tokenizer = tokenizer

    def __repr__(self) -> str:
        c = self.config
        return f"Encoder(L{c.num_layers} H{c.hidden_size} E{c.embedding_size} sharing={c.sharing}, from {self.source})"

    @property
    def config(self) -> EncoderConfig:
        return self.model.config

    @property
    def tokenizer(self) -> Tokenizer:
        if self._tokenizer is None:
            raise AlbertineError("this checkpoint came without a tokenizer; load it with tokenizer=…")
        return self._tokenizer

    @property
    def device(self) -> torch.device:
        return self.model.embeddings.word.weight.device

    def fill(self, text: str, *, top: int = 5) -> list[list[Guess]]:
        """The likeliest tokens for every [MASK] in the text, best first."""
        mask_id = self.tokenizer.mask_id
        if top < 1:
            raise AlbertineError(f"top is {top}: at least one candidate has to be asked for")
        if mask_id is None or self.model.mlm is None:
            raise AlbertineError("this encoder has no masked-word head, or its tokenizer no mask token")
        ids = self.tokenizer.encode(text.replace("[MASK]", self._token(mask_id)))
        _warn_of_unknown(*self._unknown(np.array(ids)))
        asked = [place for place, id_ in enumerate(ids) if id_ == mask_id]
        if not asked:
            raise AlbertineError(f"nothing to fill in: write [MASK] where a word is wanted, in {text[:60]!r}")
        if len(ids) > self.config.max_positions:
            raise AlbertineError(f"{len(ids)} tokens; this encoder reads at most {self.config.max_positions}")
        with torch.inference_mode():
            states_BTH = self.model(torch.tensor([ids], device=self.device)).states_BTH
            logits_MV = self.model.masked_words(states_BTH, torch.tensor(asked, device=self.device))
            best = logits_MV.float().softmax(-1).topk(min(top, logits_MV.shape[-1]))
        return [
            [Guess(self._token(id_), id_, p) for id_, p in zip(row_ids, row_p, strict=True)]
            for row_ids, row_p in zip(best.indices.tolist(), best.values.tolist(), strict=True)
        ]

    def _token(self, id_: int) -> str:
        """The token with this id; rows of the table beyond the tokenizer's have no name."""
        return self.tokenizer.token(id_) or f"[row {id_}]"

    def _unknown(self, ids: NDArray[np.int64]) -> tuple[int, int]:
        """How many tokens the vocabulary does not know, and how many there are beside the special ones."""
        t = self.tokenizer
        return int((ids == t.unk_id).sum()), int(
            (~np.isin(ids, [x for x in (t.cls_id, t.sep_id) if x is not None])).sum()
        )

    def encode(
        self,
        texts: str | Sequence[str],
        *,
        pooling: Mode | None = None,
        normalize: bool | None = None,
        batch_size: int = 32,
        max_length: int | None = None,
    ) -> NDArray[np.float32]:
        """One vector a text, in the order given. Texts that had to be cut are counted in a warning."""
        if isinstance(texts, str):
            return self.encode(
                [texts], pooling=pooling, normalize=normalize, batch_size=batch_size, max_length=max_length
            )[0]
        how = self.pooling or Pooling()
        texts = _checked(texts, pooling, batch_size, max_length)
        limit = min(max_length or how.max_length or self.config.max_positions, self.config.max_positions)
        vectors = np.zeros((len(texts), self.config.hidden_size), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))  # alike lengths: little padding
        cut = unknown = total = 0
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            given = [texts[index].lower() if how.lower_case else texts[index] for index in chosen]
            batch = self.tokenizer.batch(given, max_length=limit)
            cut += batch.truncated
            unknown, total = np.add((unknown, total), self._unknown(batch.ids_BT[batch.real_BT])).tolist()
            ids, real, segments = (torch.from_numpy(x) for x in (batch.ids_BT, batch.real_BT, batch.segments_BT))
            vectors[chosen] = self._pooled(ids, real, segments, pooling or how.mode)
        _warn_of_unknown(unknown, total)
        if cut:
            warnings.warn(f"{cut} of {len(texts)} texts were cut at {limit} tokens", stacklevel=2)
        if how.normalize if normalize is None else normalize:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors

    def _pooled(self, ids: Tensor, real: Tensor, segments: Tensor, mode: str) -> NDArray[np.float32]:
        with torch.inference_mode():
            on_device = (x.to(self.device) for x in (ids, real, segments))
            states_BTH = self.model(*on_device).states_BTH.float()
        real_BT1 = real.to(self.device)[..., None]
        if mode == "cls":
            pooled = states_BTH[torch.arange(len(real)), real.to(torch.uint8).argmax(1)]  # first real token
        elif mode == "max":
            pooled = states_BTH.masked_fill(~real_BT1, -torch.inf).amax(1)
        else:
            pooled = (states_BTH * real_BT1).sum(1) / real_BT1.sum(1).clamp_min(1)
        return pooled.cpu().numpy()

    def save_pretrained(self, folder: str | Path, *, to: Format = "huggingface", overwrite: bool = False) -> Path:
        """A directory that stock `transformers` opens, or albertine's own format when asked for."""
        checkpoint = snapshot(self.model, Path(folder))
        checkpoint.pooling, checkpoint.source = self.pooling, self.source
        write_folder(checkpoint, Path(folder), tokenizer=self._tokenizer, to=to, overwrite=overwrite)
        return Path(folder)


def _warn_of_unknown(unknown: int, total: int) -> None:
    """A vocabulary that does not know half of the text is probably another text's."""
    if 2 * unknown > total:
        warnings.warn(f"{unknown} of {total} tokens are unknown to this tokenizer", stacklevel=3)


def _checked(texts: Sequence[str], pooling: str | None, batch_size: int, max_length: int | None) -> list[str]:
    """The texts, if all that was asked of them makes sense."""
    found = list(texts)
    for place, text in enumerate(found):
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  callers are not all typed
            raise AlbertineError(f"text {place} is {type(text).__name__}, not a string")
    if pooling is not None and pooling not in get_args(Mode):
        raise AlbertineError(f"pooling {pooling!r} is not one of {', '.join(get_args(Mode))}")
    for name, value in (("batch_size", batch_size), ("max_length", max_length)):
        if value is not None and value < 1:
            raise AlbertineError(f"{name} is {value}: it has to be at least 1")
    return found
