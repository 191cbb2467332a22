"""Forward pass on the CPU beside `transformers`, in the same run: ALBERT-base, random weights.

Runs alternate between the two, so that whatever else the machine does falls on both; the figure is the
ratio of medians. Full sequences compare the bare encoder. Padding (lengths spread evenly from 16 to the
longest) and the masked-word head (15 % of the tokens asked) are where the two differ by design.

    python benchmarks/forward_cpu.py [--runs 20]
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
import transformers

from albertine.interchange.checkpoint import snapshot
from albertine.interchange.folder import write_folder
from albertine.model.model import Model
from albertine.presets import preset
from common import write_results

CASES = [(1, 16), (1, 128), (16, 128)]
TASKS = ("states", "padded states", "masked words")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    torch.manual_seed(0)
    model = Model(preset("albert-base-v2")).eval()
    with tempfile.TemporaryDirectory() as folder:
        write_folder(snapshot(model, Path("memory")), Path(folder) / "albert")
        stock = transformers.AlbertForPreTraining.from_pretrained(Path(folder) / "albert").eval()
    rows = []
    for dtype in (torch.float32, torch.bfloat16):
        model.to(dtype)
        stock.to(dtype)
        for batch, length in CASES:
            for task in TASKS:
                if task == "padded states" and batch == 1:
                    continue
                ours, theirs = functions(model, stock, batch, length, task)
                rows.append(compare(ours, theirs, runs, dtype, batch, length, task))
                print(*rows[-1].values(), sep="\t", flush=True)
    print(write_results("forward_cpu", rows))


def functions(
    model: Model, stock: transformers.AlbertForPreTraining, batch: int, length: int, task: str
) -> tuple[Callable[[], object], Callable[[], object]]:
    """The same work by both; inputs are made beforehand."""
    ids = torch.randint(5, 30_000, (batch, length))
    mask = torch.ones_like(ids)
    if task == "padded states":
        lengths = torch.linspace(16, length, batch).long()
        mask = (torch.arange(length) < lengths[:, None]).long()
    asked = torch.randperm(batch * length)[: max(1, round(0.15 * batch * length))].sort().values
    if task == "masked words":
        return (
            lambda: model.masked_words(model(ids, mask).states_BTH, asked),
            lambda: stock(input_ids=ids, attention_mask=mask).prediction_logits.flatten(0, 1)[asked],
        )
    return (
        lambda: model(ids, mask).states_BTH,
        lambda: stock.albert(input_ids=ids, attention_mask=mask).last_hidden_state,
    )


def compare(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    runs: int,
    dtype: torch.dtype,
    batch: int,
    length: int,
    task: str,
) -> dict[str, object]:
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    with torch.inference_mode():
        for _ in range(3):
            ours(), theirs()
        for run in range(runs):
            pair = [("ours", ours), ("theirs", theirs)]
            for name, function in pair if run % 2 else pair[::-1]:
                start = time.perf_counter()
                function()
                times[name].append(time.perf_counter() - start)
    a, b = (statistics.median(times[name]) * 1e3 for name in ("ours", "theirs"))
    return {
        "task": task,
        "batch": batch,
        "length": length,
        "dtype": str(dtype).removeprefix("torch."),
        "ours_ms": round(a, 2),
        "transformers_ms": round(b, 2),
        "ratio": round(b / a, 3),
        "runs": runs,
        "transformers": transformers.__version__,
    }


if __name__ == "__main__":
    main()
