"""Plans as tables for a person: models side by side, one screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from albertine.plan.report import Report
from albertine.plan.units import gib, scale, spaced

Row = tuple[str, Callable[[Report], str]]

_PARAMETERS: tuple[Row, ...] = (
    ("word table", lambda r: spaced(r.parameters.words)),
    ("positions, segments", lambda r: spaced(_small(r))),
    ("E→H map", lambda r: spaced(r.parameters.projection)),
    ("attention", lambda r: spaced(r.parameters.attention)),
    ("feed-forward", lambda r: spaced(r.parameters.ffn)),
    ("pooler", lambda r: spaced(r.parameters.pooler)),
    ("[bold]backbone[/]", lambda r: f"[bold]{spaced(r.parameters.backbone)}[/]"),
    ("  without pooler", lambda r: spaced(r.parameters.without_pooler)),
    ("  with both heads", lambda r: spaced(r.parameters.with_heads)),
)
_WORK: tuple[Row, ...] = (
    ("forward", lambda r: scale(r.flops.forward)),
    ("  attention maps", lambda r: scale(r.flops.attention_maps)),
    ("  attention scores", lambda r: scale(r.flops.attention_scores)),
    ("  feed-forward", lambda r: scale(r.flops.ffn)),
    ("  masked-word head", lambda r: scale(r.flops.mlm_head)),
    ("backward", lambda r: scale(r.flops.backward)),
    ("step, whole batch", lambda r: scale(_step(r))),
)
_TRAINING: tuple[Row, ...] = (
    ("weights", lambda r: gib(r.training.weights)),
    ("gradients", lambda r: gib(r.training.gradients)),
    ("optimiser state", lambda r: gib(r.training.optimiser)),
    ("weights cast", lambda r: gib(r.training.copies)),
    ("activations", lambda r: gib(r.plain.activations)),
    ("  checkpointed", lambda r: gib(r.checkpointed.activations)),
    ("[bold]peak[/]", lambda r: f"[bold]{gib(r.plain.peak)}[/]"),
    ("  reached at", lambda r: r.plain.peak_at),
    ("[bold]peak, checkpointed[/]", lambda r: f"[bold]{gib(r.checkpointed.peak)}[/]"),
    ("  reached at", lambda r: r.checkpointed.peak_at),
)
_INFERENCE: tuple[Row, ...] = (
    ("activations", lambda r: gib(r.inference.activations)),
    ("[bold]peak[/]", lambda r: f"[bold]{gib(r.inference.peak)}[/]"),
)


def show(console: Console, reports: Sequence[Report]) -> None:
    """Every report in a column of one table."""
    job = reports[0].job
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("")
    for each in reports:
        table.add_column(escape(Path(each.name).name), justify="right")
    parts = (
        ("Parameters", _PARAMETERS),
        ("FLOPs per token", _WORK),
        ("Bytes to train", _TRAINING),
        ("Bytes to encode", _INFERENCE),
    )
    for title, rows in parts:
        table.add_row(f"[cyan]{title}[/]")
        for label, value in rows:
            table.add_row(f"  {label}", *(value(each) for each in reports))
    console.print(table)
    said = f"{job.batch} × {job.length} tokens, {job.precision}, {job.optimiser}, eager layers, fused attention"
    console.print(f"[dim]{said}; the CUDA context comes on top. Sharing saves no FLOPs.[/]")


def show_presets(console: Console, reports: Sequence[Report]) -> None:
    """Every preset with its sizes."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("preset", "V", "E", "H", "L", "A", "shared", "parameters"):
        table.add_column(title, justify="left" if title in ("preset", "shared") else "right")
    for each in reports:
        config = each.job.config
        sizes = (config.embedding_size, config.hidden_size, config.num_layers, config.num_heads)
        numbers = (spaced(config.vocab_size), *map(str, sizes))
        table.add_row(each.name, *numbers, str(config.sharing), spaced(each.parameters.backbone))
    console.print(table)


def _small(each: Report) -> int:
    owned = each.parameters
    return owned.positions + owned.segments + owned.embedding_norm + owned.final_norm


def _step(each: Report) -> float:
    return each.flops.training(checkpointing=each.job.checkpointing) * each.job.tokens
