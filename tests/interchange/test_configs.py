"""Configs from strangers: whatever stands in them, a readable error or an encoder."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from albertine.config import EncoderConfig
from albertine.errors import AlbertineError
from albertine.interchange.checkpoint import snapshot
from albertine.interchange.folder import write_folder
from albertine.interchange.pooling import Pooling, read_pooling
from albertine.interchange.recognise import read_checkpoint
from tests.support.golden import FOLDER
from tests.support.models import BERT, random_model

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


@pytest.mark.parametrize("kind", ["albert_groups", "stock"])
@pytest.mark.parametrize("option", ["num_hidden_layers", "num_hidden_groups", "inner_group_num"])
@pytest.mark.parametrize("value", [10**5, 10**7, 2**31 - 1])
def test_absurd_depths_are_refused_at_once(
    kind: str, option: str, value: int, folders: dict[str, tuple[Path, str]], tmp_path: Path
) -> None:
    source, name = folders[kind]
    shutil.copytree(source, tmp_path / "x")
    file = tmp_path / "x" / name
    file.write_text(json.dumps(json.loads(file.read_text()) | {option: value}))
    start = time.perf_counter()
    with pytest.raises(AlbertineError, match=name):
        read_checkpoint(tmp_path / "x")
    assert time.perf_counter() - start < 1


@pytest.mark.parametrize("change", [{"num_layers": 10**8}, {"sharing": "groups(2,99999999)"}, {"sharing": "9" * 5000}])
def test_absurd_plans_are_refused_at_once(change: dict) -> None:
    with pytest.raises(AlbertineError):
        EncoderConfig.from_dict({"vocab_size": 9, **change})


@pytest.mark.parametrize(
    ("modules", "pooling", "found"),
    [
        (["Transformer", "Pooling"], {"pooling_mode_cls_token": True}, Pooling("cls")),
        (["Transformer", "Pooling", "Normalize"], {"pooling_mode_max_tokens": True}, Pooling("max", True)),
        (["Transformer", "Pooling"], {"pooling_mode": "mean"}, Pooling("mean")),
        (["Transformer"], {}, Pooling("mean")),
        (["Transformer", "Pooling", "Dense"], {"pooling_mode_mean_tokens": True}, "Dense"),
        (["Transformer", "Pooling"], {"pooling_mode_mean_sqrt_len_tokens": True}, "not supported"),
        (["Transformer", "Pooling"], {"pooling_mode_weightedmean_tokens": True}, "not supported"),
        (["Transformer", "Pooling"], {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}, "one of"),
        (["Transformer", "Pooling"], {"pooling_mode": ["mean"]}, "not supported"),
    ],
)
def test_pipelines_of_sentence_transformers(
    modules: list[str], pooling: dict, found: Pooling | str, tmp_path: Path
) -> None:
    """What we pool as they do, and what we refuse because its vectors would be others."""
    paths = {"Transformer": "", "Pooling": "1_P", "Normalize": "2_Normalize", "Dense": "2_Dense"}
    listed = [{"idx": n, "path": paths[m], "type": f"a.b.{m}"} for n, m in enumerate(modules)]
    (tmp_path / "modules.json").write_text(json.dumps(listed))
    (tmp_path / "1_P").mkdir()
    (tmp_path / "1_P" / "config.json").write_text(json.dumps({"word_embedding_dimension": 8, **pooling}))
    if isinstance(found, Pooling):
        assert read_pooling(tmp_path) == found
    else:
        with pytest.raises(AlbertineError, match=found):
            read_pooling(tmp_path)


def test_a_body_that_the_config_has_no_place_for(tmp_path: Path) -> None:
    """Fewer layers or groups in the config than in the file is another encoder, not a shorter one."""
    for options, change in (
        ({**BERT}, {"num_hidden_layers": 2}),
        ({"sharing": "groups(2,1)"}, {"num_hidden_groups": 1}),
        ({**BERT}, {"type_vocab_size": 0}),
    ):
        folder = tmp_path / str(change)
        write_folder(snapshot(random_model(options), Path("memory")), folder)
        (folder / "albertine.json").unlink()
        settings_ = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(settings_ | change))
        with pytest.raises(AlbertineError, match="leaves no place for it"):
            read_checkpoint(folder)
