"""Configs from strangers: whatever stands in them, a readable error or an encoder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from albertine.errors import AlbertineError
from albertine.interchange.checkpoint import snapshot
from albertine.interchange.folder import write_folder
from albertine.interchange.recognise import read_checkpoint
from tests.support.golden import FOLDER
from tests.support.models import random_model

ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """A checkpoint of each kind whose config is JSON, and that file's name."""
    base = tmp_path_factory.mktemp("configs")
    found: dict[str, tuple[Path, str]] = {}
    for name, file in (("albert_groups", "albert_config.json"), ("bert", "bert_config.json")):
        found[name] = shutil.copytree(FOLDER / name, base / name), file
    write_folder(snapshot(random_model({}), Path("memory")), base / "own")
    shutil.copytree(base / "own", base / "stock")
    (base / "stock" / "albertine.json").unlink()
    return found | {"own": (base / "own", "albertine.json"), "stock": (base / "stock", "config.json")}


@settings(max_examples=800, deadline=None, suppress_health_check=list(HealthCheck))
@given(damage=st.data())
def test_odd_values_never_surprise(damage: st.DataObject, folders: dict[str, tuple[Path, str]]) -> None:
    folder, name = folders[damage.draw(st.sampled_from(sorted(folders)))]
    file = folder / name
    original = file.read_text()
    options: dict[str, Any] = json.loads(original)
    within = options["encoder"] if name == "albertine.json" and damage.draw(st.booleans()) else options
    key = damage.draw(st.sampled_from(sorted(within)))
    within[key] = damage.draw(ODD)
    try:
        file.write_text(json.dumps(options))
        read_checkpoint(folder)
    except AlbertineError as error:
        assert str(folder) in str(error) or name in str(error) or "model" in str(error), (key, within[key])
        assert "\n" not in str(error)
    finally:
        file.write_text(original)


@pytest.mark.parametrize(
    "change", [{"num_hidden_layers": 2**30}, {"num_hidden_groups": 2**30}, {"inner_group_num": 2**30}]
)
def test_absurd_depths_are_refused_at_once(change: dict, tmp_path: Path) -> None:
    shutil.copytree(FOLDER / "albert_groups", tmp_path / "x")
    file = tmp_path / "x" / "albert_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(AlbertineError, match=r"albert_config\.json"):
        read_checkpoint(tmp_path / "x")
