"""What every reader returns and every writer takes: a config, named tensors, and where they came from."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import torch

from albertine.config import EncoderConfig
from albertine.errors import AlbertineError
from albertine.interchange.pooling import Pooling
from albertine.interchange.tensors import Lazy, given, stacked
from albertine.model.model import Model
from albertine.model.shapes import Shape, shapes


@dataclass
class Checkpoint:
    """An encoder on disk, in our names. Nothing is read before it is asked for."""

    config: EncoderConfig
    tensors: dict[str, Lazy]
    source: str  # "TensorFlow 1, google-research/albert"
    path: Path
    tokenizer: Path | None = None  # file or folder that `Tokenizer.load` opens
    pooling: Pooling | None = None
    notes: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)  # tensors of the source that have no place here


@dataclass(frozen=True)
class Slot:
    """Where a foreign tensor belongs: one of ours, or a third of a fused one."""

    ours: str
    part: int | None = None  # 0 queries, 1 keys, 2 values
    transposed: bool = False  # TensorFlow kernels


def assemble(foreign: Mapping[str, Lazy], names: Mapping[str, Slot]) -> dict[str, Lazy]:
    """Foreign tensors under our names; names without a tensor are left for `check` to report."""
    pieces: dict[str, dict[int | None, Lazy]] = {}
    for name, slot in names.items():
        if name in foreign:
            lazy = foreign[name].transposed() if slot.transposed else foreign[name]
            pieces.setdefault(slot.ours, {}).setdefault(slot.part, lazy)
    found: dict[str, Lazy] = {}
    for ours, parts in pieces.items():
        if None in parts:
            found[ours] = parts[None]
            continue
        for index, called in enumerate(("query", "key", "value")):
            if index not in parts:
                beside = next(iter(parts.values())).origin
                raise AlbertineError(f"{beside}: the {called} that belongs beside it is missing")
        found[ours] = stacked([parts[index] for index in (0, 1, 2)])
    return found


def check(checkpoint: Checkpoint, names: Mapping[str, Slot], config_file: str) -> Checkpoint:
    """Refuse a checkpoint whose tensors are not those that its config asks for."""
    wanted = shapes(checkpoint.config)
    for ours, shape in wanted.items():
        if ours not in checkpoint.tensors:
            raise AlbertineError(f"{checkpoint.path}: {_foreign(ours, names)} is missing")
        _check_shape(checkpoint.tensors[ours], shape, config_file)
    for ours in checkpoint.tensors.keys() - wanted.keys():
        raise AlbertineError(f"{checkpoint.tensors[ours].origin}: present, though {config_file} leaves no place for it")
    checkpoint.tensors = {ours: checkpoint.tensors[ours] for ours in wanted}
    return checkpoint


def _check_shape(lazy: Lazy, shape: Shape, config_file: str) -> None:
    if lazy.shape != shape:
        raise AlbertineError(f"{lazy.origin}: shape {list(lazy.shape)}, but {config_file} asks for {list(shape)}")
    if not lazy.dtype.is_floating_point:
        raise AlbertineError(f"{lazy.origin}: {lazy.dtype} where real numbers were expected")


def _foreign(ours: str, names: Mapping[str, Slot]) -> str:
    """What the missing tensor is called in the file: by the table of names, or like its siblings."""
    called = [name for name, slot in names.items() if slot.ours == ours]
    return f"tensor {called[0]}" if called else f"tensor {_like_its_siblings(ours, names) or ours}"


def _like_its_siblings(ours: str, names: Mapping[str, Slot]) -> str | None:
    """The same tensor of another layer, renumbered; else the other half of the same module."""
    kind, numbers = _BLOCK.sub(".N.", ours), _BLOCK.findall(ours)
    for name, slot in names.items():
        if numbers and _BLOCK.sub(".N.", slot.ours) == kind:
            there = _BLOCK.findall(slot.ours)[0]
            return re.sub(rf"(layer_|layers\.){there}\b", rf"\g<1>{numbers[0]}", name)
    module, leaf = ours.rsplit(".", 1)
    for name, slot in names.items():
        if slot.ours == f"{module}.{_HALVES[leaf]}":
            return re.sub(r"\w+$", lambda tail: _HALVES.get(tail[0], tail[0]), name)
    return None


_BLOCK = re.compile(r"\.(\d+)\.")
_HALVES = {"weight": "bias", "bias": "weight", "kernel": "bias", "gamma": "beta", "beta": "gamma"}


def build(checkpoint: Checkpoint, dtype: torch.dtype | None = None) -> Model:
    """The model with the checkpoint's weights, in evaluation mode."""
    with torch.device("meta"):
        model = Model(checkpoint.config)
    state = {name: _read(lazy, dtype) for name, lazy in checkpoint.tensors.items()}
    model.load_state_dict(state, assign=True)
    return model.eval()


def _read(lazy: Lazy, dtype: torch.dtype | None) -> torch.Tensor:
    tensor = lazy.read()
    return tensor.to(dtype) if dtype is not None else tensor


def snapshot(model: Model, path: Path) -> Checkpoint:
    """A model in memory as a checkpoint, for writing."""
    tensors = {name: given(tensor.detach().cpu(), name) for name, tensor in model.state_dict().items()}
    return Checkpoint(model.config, tensors, "albertine", path)
