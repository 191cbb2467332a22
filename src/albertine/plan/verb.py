"""`albertine plan MODEL…`: names in, tables or JSON out."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from albertine.config import EncoderConfig
from albertine.errors import AlbertineError
from albertine.plan.job import Job, Optimiser, Precision
from albertine.plan.paper import to_dict as paper_tables
from albertine.plan.report import report
from albertine.plan.show import show, show_presets
from albertine.plan.show_paper import show_paper
from albertine.presets import PRESETS, names, preset

Resolve = Callable[[str], EncoderConfig]


def resolve(name: str) -> EncoderConfig:
    """The encoder behind a name that was typed: a preset, or a checkpoint on disk."""
    if name in PRESETS or not (Path(name).exists() or Path(f"{name}.index").is_file()):
        return preset(name)
    from albertine.interchange.recognise import read_checkpoint

    return read_checkpoint(Path(name)).config


def run(
    models: Sequence[str],
    *,
    batch: int = 32,
    length: int | None = None,
    precision: Precision = "bfloat16",
    checkpointing: bool = False,
    optimiser: Optimiser = "adamw",
    paper: bool = False,
    as_json: bool = False,
    list_presets: bool = False,
    resolve: Resolve = resolve,
    console: Console | None = None,
) -> None:
    """Print the plans of these models, or the papers' tables, or the presets."""
    console = console or Console()
    if paper:
        _run_paper(console, as_json)
        return
    if not models and not list_presets:
        raise AlbertineError("plan which model? Name one, or use --list for the presets, --paper for the papers")

    def job(config: EncoderConfig) -> Job:
        return Job(
            config=config,
            batch=batch,
            length=length or min(512, config.max_positions),
            precision=precision,
            checkpointing=checkpointing,
            optimiser=optimiser,
        )

    reports = [report(name, job(resolve(name))) for name in (names() if list_presets else models)]
    if as_json:
        _print_json(console, [each.to_dict() for each in reports])
    elif list_presets:
        show_presets(console, reports)
        console.print("Next: albertine plan albert-base-v2 bert-base-uncased")
    else:
        show(console, reports)
        console.print("Next: albertine plan --paper")


def _run_paper(console: Console, as_json: bool) -> None:
    if as_json:
        _print_json(console, paper_tables())
        return
    show_paper(console)
    console.print("\nNext: albertine plan albert-base-v2 bert-base-uncased")


def _print_json(console: Console, found: Any) -> None:
    console.out(json.dumps(found, indent=2, ensure_ascii=False), highlight=False)
