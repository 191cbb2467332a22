"""TensorFlow 1 checkpoints: containers, layouts, and what happens to damaged ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from albertine.errors import AlbertineError
from albertine.interchange.checkpoint import build
from albertine.interchange.google import place, read_google
from albertine.interchange.recognise import read_checkpoint
from albertine.interchange.tensorflow import read_bundle
from tests.support.bundle import write_bundle
from tests.support.golden import ENCODERS, FOLDER


def arrays_of(name: str) -> dict[str, np.ndarray]:
    return {key: lazy.read().numpy() for key, lazy in read_bundle(FOLDER / name / "model.ckpt").items()}


def rewrite(name: str, target: Path, rename=lambda key: key, *, config: bool = True, shards: int = 1) -> Path:
    """A golden checkpoint under other variable names."""
    write_bundle(target / "model.ckpt", {rename(k): v for k, v in sorted(arrays_of(name).items())}, shards=shards)
    if config:
        for file in (FOLDER / name).glob("*config.json"):
            shutil.copy(file, target)
    return target / "model.ckpt"


def same_weights(left: Path, right: Path) -> None:
    a, b = (build(read_checkpoint(path)).state_dict() for path in (left, right))
    assert a.keys() == b.keys()
    assert all(torch.equal(a[key], b[key]) for key in a)


@pytest.mark.parametrize("name", ENCODERS)
def test_the_writer_of_the_tests_is_the_mirror_of_tensorflows(name: str, tmp_path: Path) -> None:
    prefix = rewrite(name, tmp_path)
    theirs, ours = read_bundle(FOLDER / name / "model.ckpt"), read_bundle(prefix)
    assert theirs.keys() == ours.keys()
    assert all(torch.equal(theirs[key].read(), ours[key].read()) for key in theirs)


def test_several_data_files(tmp_path: Path) -> None:
    same_weights(rewrite("albert_groups", tmp_path, shards=3), FOLDER / "albert_groups")


@pytest.mark.parametrize("ending", ["", ".index", ".data-00000-of-00001"])
def test_every_name_of_a_checkpoint_means_it(ending: str) -> None:
    assert read_checkpoint(FOLDER / "bert" / f"model.ckpt{ending}").config.hidden_size == 64


def test_other_types_are_read(tmp_path: Path) -> None:
    values = {
        "half": np.arange(6, dtype=np.float16).reshape(2, 3),
        "double": np.array(3.5),
        "long": np.arange(4),
        "empty": np.zeros((0, 3), np.float32),
    }
    write_bundle(tmp_path / "x", values)
    found = read_bundle(tmp_path / "x")
    for name, array in values.items():
        assert torch.equal(found[name].read(), torch.from_numpy(array))


class TestLayouts:
    def test_tf_hub_names(self, tmp_path: Path) -> None:
        def hub(key: str) -> str:
            return "module/" + key.replace("/group_0/", "/group_0_7/layer_7/")

        same_weights(rewrite("albert_shared", tmp_path, hub), FOLDER / "albert_shared")

    def test_tf_hub_config_follows_from_shapes(self, tmp_path: Path) -> None:
        """A module has no JSON: sizes come from the variables, heads and layers from what was published."""
        variables = tmp_path / "module" / "variables"
        variables.mkdir(parents=True)
        write_bundle(variables / "variables", dict(base_hub_arrays()))
        checkpoint = read_checkpoint(tmp_path / "module")
        assert "TF-Hub" in checkpoint.source
        c = checkpoint.config
        assert (c.num_layers, c.num_heads, c.embedding_size, c.vocab_size) == (12, 12, 8, 50)
        assert any("12" in note for note in checkpoint.notes)

    def test_optimiser_slots_are_no_tensors_of_the_encoder(self, tmp_path: Path) -> None:
        arrays = arrays_of("bert")
        extra = {f"{key}/{slot}": value for key, value in arrays.items() for slot in ("adam_m", "adam_v")}
        extra |= {"global_step": np.array(7), "output_weights": np.zeros((2, 64), np.float32)}
        write_bundle(tmp_path / "model.ckpt", dict(sorted({**arrays, **extra}.items())))
        shutil.copy(FOLDER / "bert" / "bert_config.json", tmp_path)
        assert read_checkpoint(tmp_path).left_out == ["output_weights"]

    def test_equal_widths_have_no_projection(self, tmp_path: Path) -> None:
        """Google's code leaves the E→H map out when E = H."""
        arrays = arrays_of("albert_shared")
        rng = np.random.default_rng(0)
        for key, value in arrays.items():
            wide = tuple(64 if size == 16 else size for size in value.shape)
            if wide != value.shape:
                arrays[key] = rng.normal(size=wide).astype(np.float32)
        arrays = {key: value for key, value in arrays.items() if "embedding_hidden_mapping_in" not in key}
        write_bundle(tmp_path / "model.ckpt", arrays)
        config = json.loads((FOLDER / "albert_shared" / "albert_config.json").read_text())
        (tmp_path / "albert_config.json").write_text(json.dumps(config | {"embedding_size": 64}))
        assert read_checkpoint(tmp_path).config.projection == "none"

    @pytest.mark.parametrize(
        ("share", "names"),
        [
            (
                "attention",
                ("layer_shared/attention", "layer_shared/intermediate_{}", "layer_shared/output_{}"),
            ),
            ("ffn", ("layer_shared/attention_{}", "layer_shared/intermediate", "layer_shared/output")),
            ("none", ("layer_{}/attention", "layer_{}/intermediate", "layer_{}/output")),
        ],
    )
    def test_brightmarts_partial_sharing(self, share: str, names: tuple[str, str, str], tmp_path: Path) -> None:
        arrays: dict[str, np.ndarray] = {}
        for key, value in arrays_of("albert_zh_preln").items():
            for part, new in zip(("attention", "intermediate", "output"), names, strict=True):
                old = f"layer_shared/{part}/"
                if old in key:
                    for layer in range(4 if "{}" in new else 1):
                        arrays[key.replace(old, f"{new.format(layer)}/")] = value
                    break
            else:
                arrays[key] = value
        write_bundle(tmp_path / "model.ckpt", dict(sorted(arrays.items())))
        shutil.copy(FOLDER / "albert_zh_preln" / "albert_config.json", tmp_path)
        checkpoint = read_checkpoint(tmp_path)
        assert str(checkpoint.config.sharing) == share
        ids = torch.arange(20).view(2, 10)
        with torch.inference_mode():
            ours = build(checkpoint)(ids).states_BTH
            theirs = build(read_checkpoint(FOLDER / "albert_zh_preln"))(ids).states_BTH
        assert torch.equal(ours, theirs)

    def test_a_group_that_the_published_formula_skips(self, tmp_path: Path) -> None:
        """int(layer / 22 · 22) never gives some groups, so they have no variables."""
        used = sorted({int(layer / 22 * 22) for layer in range(22)})
        assert len(used) < 22
        arrays = {}
        for key, value in arrays_of("albert_shared").items():
            if "group_0" in key:
                arrays |= {key.replace("group_0/", f"group_{g}/", 1): value + g for g in used}
            else:
                arrays[key] = value
        write_bundle(tmp_path / "model.ckpt", dict(sorted(arrays.items())))
        config = json.loads((FOLDER / "albert_shared" / "albert_config.json").read_text())
        changed = config | {"num_hidden_layers": 22, "num_hidden_groups": 22}
        (tmp_path / "albert_config.json").write_text(json.dumps(changed))
        model = build(read_checkpoint(tmp_path))
        bias = [float(model.attention[a].norm.bias.detach()[0]) for a, _ in model.plan()]
        base = float(arrays_of("albert_shared")["bert/encoder/transformer/group_0/inner_group_0/LayerNorm/beta"][0])
        assert bias == pytest.approx([base + int(layer / 22 * 22) for layer in range(22)], abs=1e-5)

    def test_xlnet_is_named(self, tmp_path: Path) -> None:
        for suffix in (".index", ".data-00000-of-00001"):
            shutil.copy(FOLDER / "xlnet_memory" / f"xlnet_model.ckpt{suffix}", tmp_path)
        with pytest.raises(AlbertineError, match="XLNet"):
            read_checkpoint(tmp_path)


def base_hub_arrays():
    """Variables of an ALBERT-base module with a small vocabulary."""
    shapes = {
        "embeddings/word_embeddings": (50, 8),
        "embeddings/position_embeddings": (16, 8),
        "embeddings/token_type_embeddings": (2, 8),
        "embeddings/LayerNorm/beta": (8,),
        "embeddings/LayerNorm/gamma": (8,),
        "encoder/embedding_hidden_mapping_in/kernel": (8, 768),
        "encoder/embedding_hidden_mapping_in/bias": (768,),
        "pooler/dense/kernel": (768, 768),
        "pooler/dense/bias": (768,),
    }
    layer = "encoder/transformer/group_0_11/layer_11/inner_group_0"
    for part in ("self/query", "self/key", "self/value", "output/dense"):
        shapes |= {
            f"{layer}/attention_1/{part}/kernel": (768, 768),
            f"{layer}/attention_1/{part}/bias": (768,),
        }
    shapes |= {
        f"{layer}/ffn_1/intermediate/dense/kernel": (768, 64),
        f"{layer}/ffn_1/intermediate/dense/bias": (64,),
    }
    output = f"{layer}/ffn_1/intermediate/output/dense"
    shapes |= {f"{output}/kernel": (64, 768), f"{output}/bias": (768,)}
    for norm in ("LayerNorm", "LayerNorm_1"):
        shapes |= {f"{layer}/{norm}/gamma": (768,), f"{layer}/{norm}/beta": (768,)}
    for name in sorted(shapes):
        yield f"module/bert/{name}", np.ones(shapes[name], np.float32)


def test_names_that_mean_nothing_here() -> None:
    for name in (
        "global_step",
        "bert/pooler/dense/kernel/adam_m",
        "output_bias",
        "model/transformer/r_w_bias",
    ):
        assert place(name) is None


class TestBadInput:
    @pytest.fixture
    def copied(self, tmp_path: Path) -> Path:
        shutil.copytree(FOLDER / "albert_shared", tmp_path / "c")
        return tmp_path / "c"

    def test_truncated_data(self, copied: Path) -> None:
        data = copied / "model.ckpt.data-00000-of-00001"
        data.write_bytes(data.read_bytes()[:-100])
        with pytest.raises(AlbertineError, match=r"data-00000-of-00001.*truncated"):
            build(read_checkpoint(copied))

    def test_missing_data(self, copied: Path) -> None:
        (copied / "model.ckpt.data-00000-of-00001").unlink()
        with pytest.raises(AlbertineError, match=r"data-00000-of-00001: missing"):
            read_checkpoint(copied)

    def test_a_flipped_bit_in_the_data_is_found(self, copied: Path) -> None:
        data = copied / "model.ckpt.data-00000-of-00001"
        raw = bytearray(data.read_bytes())
        for at in range(0, len(raw), len(raw) // 40):
            raw[at] ^= 1
            data.write_bytes(raw)
            with pytest.raises(AlbertineError, match="checksum of"):
                build(read_checkpoint(copied))
            raw[at] ^= 1

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"hidden_size": 128}, "asks for"),
            ({"vocab_size": 332}, "word_embeddings"),
            ({"num_attention_heads": 5}, "not a multiple"),
            ({"hidden_act": "mish"}, "hidden_act 'mish'"),
            ({"num_hidden_groups": 2}, "missing"),
            ({"num_hidden_layers": None}, "num_hidden_layers is missing"),
            ({"vocab_size": "331"}, "whole number"),
        ],
    )
    def test_a_config_that_contradicts_the_tensors(self, copied: Path, change: dict, says: str) -> None:
        file = copied / "albert_config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | change))
        with pytest.raises(AlbertineError, match=says):
            read_checkpoint(copied)

    def test_no_config(self, copied: Path) -> None:
        (copied / "albert_config.json").unlink()
        (copied / "training.json").unlink()
        with pytest.raises(AlbertineError, match=r"no albert_config\.json"):
            read_checkpoint(copied)

    @pytest.mark.parametrize(
        ("name", "says"),
        [
            ("bert/encoder/layer_1/output/dense/kernel", "bert/encoder/layer_1/output/dense/kernel is missing"),
            ("bert/encoder/layer_2/attention/output/LayerNorm/beta", "layer_2/attention/output/LayerNorm/beta is miss"),
            ("bert/encoder/layer_1/attention/self/key/kernel", "layer_1/attention/self/query/kernel: the key"),
            ("bert/pooler/dense/bias", "pooler"),
        ],
    )
    def test_a_missing_variable_is_named(self, name: str, says: str, tmp_path: Path) -> None:
        arrays = arrays_of("bert")
        del arrays[name]
        write_bundle(tmp_path / "model.ckpt", arrays)
        shutil.copy(FOLDER / "bert" / "bert_config.json", tmp_path)
        with pytest.raises(AlbertineError, match=says):
            read_checkpoint(tmp_path)


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(damage=st.data())
def test_damaged_indexes_never_surprise(damage: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Truncated, flipped and overwritten indexes give an error that a person can read, or the same tensors."""
    folder = tmp_path_factory.getbasetemp() / "damaged"
    folder.mkdir(exist_ok=True)
    data = folder / "model.ckpt.data-00000-of-00001"
    if not data.exists():
        shutil.copy(FOLDER / "bert" / data.name, data)
        shutil.copy(FOLDER / "bert" / "bert_config.json", folder)
    raw = bytearray((FOLDER / "bert" / "model.ckpt.index").read_bytes())
    match damage.draw(st.sampled_from(["cut", "flip", "fill"])):
        case "cut":
            raw = raw[: damage.draw(st.integers(0, len(raw) - 1))]
        case "flip":
            raw[damage.draw(st.integers(0, len(raw) - 1))] ^= 1 << damage.draw(st.integers(0, 7))
        case "fill":
            start = damage.draw(st.integers(0, len(raw) - 1))
            chunk = damage.draw(st.binary(min_size=1, max_size=40))
            raw[start : start + len(chunk)] = chunk
    (folder / "model.ckpt.index").write_bytes(raw)
    original = read_google(FOLDER / "bert" / "model.ckpt", {})
    try:
        found = read_google(folder / "model.ckpt", {})
        for name, lazy in found.tensors.items():
            assert torch.equal(lazy.read(), original.tensors[name].read())
    except AlbertineError as error:
        assert str(folder) in str(error) or "model.ckpt" in str(error)
        assert "\n" not in str(error)
