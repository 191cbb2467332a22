"""The papers' tables for a person, ours in the next column."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from albertine.plan import paper
from albertine.plan.paper import Cell, Claim, Speed
from albertine.plan.units import spaced


def show_paper(console: Console) -> None:
    for title, cells in (
        ("Table 1: parameters", paper.table_1()),
        ("Table 3: embedding size, base model", paper.table_3()),
        ("Table 4: what is shared, base model", paper.table_4()),
    ):
        _print_cells(console, title, cells)
    _print_speeds(console, paper.table_2())
    _print_claims(console, paper.claims())


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for position, column in enumerate(columns):
        table.add_column(column, justify="right" if position else "left")
    return table


def _print_cells(console: Console, title: str, cells: Sequence[Cell]) -> None:
    table = _table(title, "", "paper", "with pooler", "without", "difference")
    for cell in cells:
        counts = (_chosen(cell.with_pooler, cell.shared), _chosen(cell.without_pooler, not cell.shared))
        mark = " *" if cell.note else ""
        table.add_row(cell.row + mark, f"{cell.paper_millions}M", *counts, f"{cell.difference / 1e6:+.2f}M")
    console.print(table)
    for cell in cells:
        if cell.note:
            console.print(f"[dim]* {cell.row}: {cell.note}.[/]")
    console.print()


def _chosen(count: int, chosen: bool) -> str:
    """The variant that the paper's row counts stands out."""
    return f"[bold]{spaced(count)}[/]" if chosen else f"[dim]{spaced(count)}[/]"


def _print_speeds(console: Console, speeds: Sequence[Speed]) -> None:
    title = f"Table 2: training speed, ours by operations at length {paper.LENGTH}"
    table = _table(title, "", "BERT large = 1", "ours", "v1, BERT xlarge = 1", "ours")
    for row in speeds:
        large, xlarge = row.operations_to_bert_large, row.operations_to_bert_xlarge
        table.add_row(row.row, _times(row.to_bert_large), _times(large), _times(row.to_bert_xlarge), _times(xlarge))
    console.print(table)
    console.print("[dim]Sharing saves no operations; the paper's machines also sent fewer gradients.[/]\n")


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.1f}×"


def _print_claims(console: Console, claims: Sequence[Claim]) -> None:
    table = _table("Arithmetic", "", "claimed", "ours")
    for claim in claims:
        table.add_row(claim.what, claim.claimed, claim.ours)
    console.print(table)
