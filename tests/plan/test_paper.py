"""The papers' cells, each with the count that the paper used."""

import pytest

from albertine.plan import paper
from albertine.plan.paper import Cell
from albertine.presets import preset


def millions(cells: list[Cell]) -> list[int]:
    return [cell.paper_millions for cell in cells]


def test_the_papers_columns_are_there() -> None:
    assert millions(paper.table_1()) == [108, 334, 1270, 12, 18, 60, 235]
    assert millions(paper.table_3()) == [87, 89, 93, 108, 10, 12, 16, 31]
    assert millions(paper.table_4()) == [31, 83, 57, 108, 12, 64, 38, 89]


@pytest.mark.parametrize("cell", paper.table_3() + paper.table_4(), ids=lambda cell: f"{cell.table}: {cell.row}")
def test_every_cell_of_tables_3_and_4_is_within_half_a_million(cell: Cell) -> None:
    assert abs(cell.difference) < 0.5e6
    assert max(abs(n - cell.paper_millions * 10**6) for n in (cell.with_pooler, cell.without_pooler)) < 1.1e6


def test_rows_without_sharing_leave_the_pooler_out_and_shared_rows_have_it() -> None:
    for cell in paper.table_3() + paper.table_4():
        assert cell.ours == (cell.with_pooler if cell.shared else cell.without_pooler)
        assert cell.with_pooler - cell.without_pooler == 768 * 768 + 768


def test_table_1_names_the_papers_own_discrepancy() -> None:
    *others, xlarge, xxlarge = paper.table_1()
    assert all(abs(cell.difference) < 1.1e6 and not cell.note for cell in others)
    assert xxlarge.with_pooler == 222_595_584
    assert "discrepancy" in xxlarge.note
    assert xlarge.with_pooler == 58_724_864
    assert xlarge.note


def test_the_same_block_is_counted_by_the_table_of_widths() -> None:
    three_layers = preset("albert-xxlarge-v2").with_(num_layers=3)
    assert paper.parameters.count(three_layers).backbone == 222_595_584


def test_claims_come_out_as_the_notes_say() -> None:
    ours = {claim.what: claim.ours.replace("\u00a0", " ") for claim in paper.claims()}
    assert ours["word table, V·H"] == "23 040 000"
    assert ours["factorised, V·E + E·H"] == "3 938 304"
    assert ours["attention + feed-forward in BERT-base"] == "78.0 % = 26.0 % + 52.0 %"
    assert ours["saved by factorising, E=128"] == "17.8 %"
    assert ours["saved by sharing, E=768"] == "71.5 %"
    assert ours["saved by both"] == "89.3 %"


def test_operations_order_the_models_as_the_papers_clock_does() -> None:
    speeds = [row for row in paper.table_2() if row.to_bert_large is not None]
    by_clock = sorted(speeds, key=lambda row: row.to_bert_large or 0)
    assert by_clock == sorted(speeds, key=lambda row: row.operations_to_bert_large)
    assert {row.row: row.operations_to_bert_large for row in speeds}["BERT large"] == 1


def test_the_rule_of_thumb_is_close_to_the_exact_blocks() -> None:
    exact = paper.parameters.count(preset("bert-base-uncased")).blocks
    assert exact == pytest.approx(12 * 12 * 768**2, rel=0.002)
