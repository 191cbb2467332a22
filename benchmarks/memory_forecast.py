"""Is the memory forecast of `albertine plan` right?

    python benchmarks/memory_forecast.py            # on a CUDA machine: measured peaks of real steps
    python benchmarks/memory_forecast.py --traced   # anywhere: the same steps on tensors without contents

The forecast is derived from the model's code, not fitted to these cases. Traced steps run the real model
under torch's fake tensors, with CUDA autocast's rules put in place of the CPU's: what is saved for the
backward pass is exact, and the peak is that of a perfect allocator. Both write a CSV beside the others.
"""

from __future__ import annotations

import argparse
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from math import inf
from statistics import median
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from albertine.model.model import Model
from albertine.plan import activations
from albertine.plan.job import Job
from albertine.plan.memory import surviving_copies, training
from albertine.presets import preset
from common import write_results

CASES: list[tuple[str, int, int, str, bool]] = [
    # model, batch, length, precision, checkpointing
    ("albert-base-v2", 128, 512, "bfloat16", False),
    ("albert-base-v2", 512, 128, "bfloat16", False),
    ("albert-base-v2", 128, 512, "bfloat16", True),
    ("albert-base-v2", 64, 512, "float32", False),
    ("albert-base-v1", 64, 512, "bfloat16", False),
    ("albert-large-v2", 64, 512, "bfloat16", False),
    ("albert-large-v2", 64, 512, "bfloat16", True),
    ("albert-large-v2", 16, 384, "float32", True),
    ("albert-xlarge-v2", 32, 512, "bfloat16", False),
    ("albert_xlarge_zh", 32, 512, "bfloat16", True),
    ("albert-xxlarge-v2", 16, 512, "bfloat16", False),
    ("bert-base-uncased", 128, 512, "bfloat16", False),
    ("bert-base-uncased", 32, 128, "float32", False),
    ("bert-large-uncased", 64, 512, "bfloat16", False),
    ("bert-large-uncased", 64, 512, "bfloat16", True),
    ("bert-large-uncased", 4, 128, "bfloat16", False),
    ("roberta-base", 64, 512, "bfloat16", False),
    ("roberta-base", 64, 512, "float32", True),
]


def jobs() -> Iterator[tuple[str, Job]]:
    for name, batch, length, precision, checkpointing in CASES:
        yield (
            name,
            Job(
                config=preset(name),
                batch=batch,
                length=length,
                precision=precision,  # type: ignore[arg-type]
                checkpointing=checkpointing,
            ),
        )


def forward(model: Model, job: Job, device: str) -> tuple[Tensor, tuple[Tensor, ...]]:
    """The losses of one step, and the tensors that the step goes on naming."""
    ids_BT = torch.zeros(job.batch, job.length, dtype=torch.long, device=device)
    asked_M = torch.arange(job.asked, device=device)
    answers_M = torch.zeros(job.asked, dtype=torch.long, device=device)
    with torch.autocast(device, torch.bfloat16, enabled=job.precision == "bfloat16"):
        states_BTH = model(ids_BT).states_BTH
        logits_MV = model.masked_words(states_BTH, asked_M)
        loss = F.cross_entropy(logits_MV, answers_M)
        if model.pair is not None:
            labels_B = torch.zeros(job.batch, dtype=torch.long, device=device)
            loss = loss + F.cross_entropy(model.pairs(states_BTH), labels_B)
    return loss, (ids_BT, states_BTH, logits_MV)


def checkpoint_layers(model: Model, job: Job, rules: Callable[[], Any] = nullcontext) -> None:
    """`rules` hold while a layer is computed again: going back leaves those that held before."""
    if job.checkpointing:
        model._layer = partial(
            checkpoint, model._layer, use_reentrant=False, context_fn=lambda: (nullcontext(), rules())
        )


class CudaRules(TorchFunctionMode):
    """On a CPU: the operations that CUDA autocast computes in float32, and dropout with one-byte masks."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (F.layer_norm, F.cross_entropy) and torch.is_autocast_enabled("cpu"):
            with torch.autocast("cpu", enabled=False):
                return func(args[0].float(), *args[1:], **kwargs)
        if func is F.dropout:
            states, probability, train = (*args, *kwargs.values())[:3]
            return torch.native_dropout(states, probability, train)[0] if probability and train else states
        if func is F.scaled_dot_product_attention:
            kwargs = {**kwargs, "dropout_p": 0.0}  # the fused CUDA kernels draw the same mask again instead
        return func(*args, **kwargs)


class LiveBytes(TorchDispatchMode):
    """Bytes of all storages that are alive, and the most that ever were."""

    def __init__(self) -> None:
        super().__init__()
        self.now, self.peak = 0, 0
        self.seen: set[int] = set()

    def add(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if key in self.seen:
            return
        self.seen.add(key)
        weakref.finalize(storage, self._release, key, size)
        self.now += size
        self.peak = max(self.peak, self.now)

    def _release(self, key: int, size: int) -> None:
        self.seen.discard(key)
        self.now -= size

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in out if isinstance(out, tuple | list) else (out,):
            if isinstance(tensor, Tensor):
                self.add(tensor)
        return out


@contextmanager
def savings(parameters: set[int]) -> Iterator[dict[int, int]]:
    """Storages that autograd keeps, by identity, while the context is open; the weights' own are left out."""
    kept: dict[int, Tensor] = {}
    sizes: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage._cdata not in parameters:
            kept[storage._cdata] = tensor  # alive: no other storage may take its place
            sizes[storage._cdata] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        yield sizes


def bare_model(job: Job) -> Model:
    """The model with fake weights, made without drawing them."""
    with torch.device("meta"):
        model = Model(job.config)
    for module in model.modules():
        for name, weight in list(module._parameters.items()):
            if weight is not None:
                module._parameters[name] = nn.Parameter(torch.empty(weight.shape))
    return model.train()


def saved_bytes(job: Job) -> int:
    """What autograd saves in one forward pass with its losses, without weights, with their narrow copies."""
    with FakeTensorMode(), CudaRules():
        model = bare_model(job)
        checkpoint_layers(model, job, CudaRules)
        weights = {weight.untyped_storage()._cdata for weight in model.parameters()}
        with savings(weights) as sizes:
            _step = forward(model, job, "cpu")
        return sum(sizes.values())


def traced_peak(job: Job) -> int:
    """The most bytes alive in one step of a perfect allocator; Adam's state is added by its definition.

    Under tracing torch adds all gradients out of place. A real step adds the two of a tied word table in
    place under autocast, so that small batches look larger here by one word table.
    """
    with FakeTensorMode(), CudaRules():
        model = bare_model(job)
        checkpoint_layers(model, job, CudaRules)
        live = LiveBytes()
        for weight in model.parameters():
            live.add(weight)
        with live:
            loss, _named = forward(model, job, "cpu")
            loss.backward()
        return live.peak + 8 * sum(weight.numel() for weight in model.parameters())


def traced_encoding(job: Job) -> int:
    """The most bytes alive while one batch is encoded."""
    with FakeTensorMode(), CudaRules():
        model, live = bare_model(job).eval(), LiveBytes()
        for weight in model.parameters():
            live.add(weight)
        narrow = job.precision == "bfloat16"
        with live, torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            _states = model(torch.zeros(job.batch, job.length, dtype=torch.long)).states_BTH
        return live.peak


def measured_peak(job: Job) -> int:
    """The peak of the second step on the GPU, when the optimiser's state exists."""
    torch.cuda.empty_cache()
    model = Model(job.config).cuda().train()
    checkpoint_layers(model, job)
    optimiser = torch.optim.AdamW(model.parameters(), fused=True)
    for _ in range(2):
        torch.cuda.reset_peak_memory_stats()
        loss, _named = forward(model, job, "cuda")
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        del loss, _named
    return torch.cuda.max_memory_allocated()


def forecast_saved(job: Job) -> int:
    """The forecast of `saved_bytes`: activations, and the weight copies that outlive autocast."""
    return activations.everything(job) + surviving_copies(job)


def compare(
    what: str, measure: Callable[[Job], int], forecast: Callable[[Job], int], room: float = inf
) -> list[dict[str, Any]]:
    """One row a case that the machine has room for."""
    rows = []
    for name, job in jobs():
        said = forecast(job)
        if said > room:
            print(f"{what:14} {name} {job.batch}x{job.length}: left out, it does not fit this machine")
            continue
        seen = measure(job)
        error = said / seen - 1
        label = f"{name} {job.batch}x{job.length} {job.precision}{' checkpointed' if job.checkpointing else ''}"
        print(
            f"{what:14} {label:52} {said / 2**30:8.3f} GiB said {seen / 2**30:8.3f} seen {error:+7.2%}",
            flush=True,
        )
        rows.append(
            {
                "what": what,
                "model": name,
                "batch": job.batch,
                "length": job.length,
                "precision": job.precision,
                "checkpointing": job.checkpointing,
                "forecast_bytes": said,
                "measured_bytes": seen,
                "error_percent": round(100 * error, 3),
            }
        )
    errors = [abs(row["error_percent"]) for row in rows]
    print(f"{what}: {len(rows)} cases, worst {max(errors):.2f} %, median {median(errors):.2f} %")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traced", action="store_true", help="trace the steps even where a GPU is at hand")
    traced = parser.parse_args().traced or not torch.cuda.is_available()

    def peak(job: Job) -> int:
        return training(job).peak

    if traced:
        rows = compare("saved tensors", saved_bytes, forecast_saved) + compare("traced peak", traced_peak, peak)
        print(write_results("memory_saved_tensors", rows))
    else:
        room = torch.cuda.get_device_properties(0).total_memory
        print(write_results("memory_forecast", compare("measured peak", measured_peak, peak, room)))


if __name__ == "__main__":
    main()
