"""Checkpoints of a gigabyte: what a conversion holds in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from convert import measure  # benchmarks/convert.py


@pytest.mark.slow
@pytest.mark.parametrize("form", ["tf1", "pickle"])
def test_memory_stays_near_the_larger_of_source_and_target(form: str, tmp_path: Path) -> None:
    row = measure("bert-large-uncased", form, False, tmp_path)
    assert row["source_MB"] > 1000
    assert row["peak_over_larger"] <= 1.3
