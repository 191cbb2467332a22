from __future__ import annotations

from pathlib import Path

import pytest

from albertine.tokenizer import Tokenizer
from tests.tokenizer.samples import PATTERN, write_all


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return write_all(tmp_path_factory.mktemp("published"))


@pytest.fixture(scope="session")
def tokenizers(folders: dict[str, Path]) -> dict[str, Tokenizer]:
    """A small tokenizer of every published format."""
    loaded = {name: Tokenizer.load(path) for name, path in folders.items() if name != "pattern"}
    return loaded | {"pattern": Tokenizer.from_pattern(folders["pattern"] / "vocab.txt", PATTERN)}
