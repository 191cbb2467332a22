"""Where the tests find the real corpora, tokenizers and weights that are not part of the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

SHARED = Path(os.environ.get("ALBERTINE_SHARED", Path(__file__).parents[2] / "shared"))

if "PYTEST_XDIST_WORKER" in os.environ:
    torch.set_num_threads(1)  # workers share the cores


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; without it the test is skipped."""
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip(f"no real data at {data}; set ALBERTINE_SHARED")
    return data
