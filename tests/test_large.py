"""Checkpoints of a gigabyte: what a conversion holds in memory."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.mark.slow
@pytest.mark.parametrize("form", ["tf1", "pickle"])
def test_memory_stays_near_the_larger_of_source_and_target(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
    measure = runpy.run_path(str(BENCHMARKS / "convert.py"))["measure"]
    row = measure("bert-large-uncased", form, False, tmp_path)
    assert row["source_MB"] > 1000
    assert row["peak_over_larger"] <= 1.3
