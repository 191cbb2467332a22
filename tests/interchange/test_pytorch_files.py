"""fairseq, UniLM and plain pickles: layouts, and pickles that want to run code."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from albertine.errors import AlbertineError
from albertine.interchange.checkpoint import build
from albertine.interchange.fairseq import place
from albertine.interchange.recognise import read_checkpoint
from tests.support.models import ROBERTA, config, random_model, tokens

TOLERANCE = 1e-5


def fairseq_names(*, new: bool, fused: bool) -> dict[str, tuple[str, int | None]]:
    """fairseq's parameter → ours, spelled out here from its module tree."""
    body = "encoder.sentence_encoder" if new else "decoder.sentence_encoder"
    norm = "layernorm_embedding" if new else "emb_layer_norm"
    names: dict[str, tuple[str, int | None]] = {
        f"{body}.embed_tokens.weight": ("embeddings.word.weight", None),
        f"{body}.embed_positions.weight": ("embeddings.position.weight", None),
    }
    pairs = [(f"{body}.{norm}", "embeddings.norm"), (f"{body.split('.')[0]}.lm_head.dense", "mlm.dense")]
    pairs.append((f"{body.split('.')[0]}.lm_head.layer_norm", "mlm.norm"))
    for layer in range(4):
        at = f"{body}.layers.{layer}"
        pairs += [(f"{at}.self_attn.out_proj", f"attention.{layer}.output")]
        pairs += [(f"{at}.self_attn_layer_norm", f"attention.{layer}.norm")]
        pairs += [
            (f"{at}.{a}", f"ffn.{layer}.{b}")
            for a, b in (("fc1", "inner"), ("fc2", "outer"), ("final_layer_norm", "norm"))
        ]
        for leaf in ("weight", "bias"):
            if fused:
                names[f"{at}.self_attn.in_proj_{leaf}"] = (f"attention.{layer}.qkv.{leaf}", None)
            for part, proj in enumerate("qkv"):
                if not fused:
                    names[f"{at}.self_attn.{proj}_proj.{leaf}"] = (f"attention.{layer}.qkv.{leaf}", part)
    for theirs, ours in pairs:
        names |= {f"{theirs}.{leaf}": (f"{ours}.{leaf}", None) for leaf in ("weight", "bias")}
    head = body.split(".")[0]
    return names | {
        f"{head}.lm_head.weight": ("embeddings.word.weight", None),
        f"{head}.lm_head.bias": ("mlm.bias", None),
    }


def settings_of() -> dict:
    c = config(ROBERTA)
    return {
        "encoder_layers": c.num_layers,
        "encoder_embed_dim": c.hidden_size,
        "encoder_ffn_embed_dim": c.intermediate_size,
        "encoder_attention_heads": c.num_heads,
        "activation_fn": "gelu",
    }


@pytest.mark.parametrize("new", [False, True], ids=["decoder-keys", "encoder-keys"])
@pytest.mark.parametrize("fused", [False, True], ids=["q-k-v", "in_proj"])
@pytest.mark.parametrize("archive", [False, True], ids=["legacy", "zip"])
def test_fairseq_layouts(new: bool, fused: bool, archive: bool, tmp_path: Path) -> None:
    model = random_model(ROBERTA)
    state = model.state_dict()
    table = fairseq_names(new=new, fused=fused)
    theirs = {n: state[o] if part is None else state[o].chunk(3)[part].clone() for n, (o, part) in table.items()}
    saved = {"model": theirs, "last_optimizer_state": {"step": 3}}
    saved |= (
        {"cfg": {"model": argparse.Namespace(**settings_of())}}
        if new
        else {"args": argparse.Namespace(**settings_of())}
    )
    torch.save(saved, tmp_path / "model.pt", _use_new_zipfile_serialization=archive)
    checkpoint = read_checkpoint(tmp_path / "model.pt")
    assert checkpoint.left_out == []
    back = build(checkpoint).state_dict()
    assert all(torch.equal(back[name], tensor) for name, tensor in state.items())


def test_names_that_mean_nothing_here() -> None:
    assert place("decoder.sentence_encoder.layers.0.self_attn.bias_k") is None
    assert place("classification_heads.mnli.dense.weight") is None


@pytest.mark.data
def test_real_fairseq_checkpoints_against_transformers(shared_data: Path) -> None:
    """sapiens: real weights; the peer gets them tensor by tensor, without our tables."""
    for name in ("checkpoint_vh.pt", "checkpoint_vl.pt"):
        file = shared_data / "weights" / "sapiens-roberta-fairseq" / name
        with torch.serialization.safe_globals([argparse.Namespace]):
            raw = torch.load(file, map_location="cpu", weights_only=True)
        peer = roberta_from_fairseq(raw["model"], raw["args"])
        model = build(read_checkpoint(file))
        torch.manual_seed(0)
        ids = torch.cat([torch.zeros(4, 1).long(), torch.randint(4, 24, (4, 100)), torch.full((4, 1), 2)], 1)
        ids[2, 60:] = 1
        with torch.inference_mode():
            out = peer(ids, attention_mask=(ids != 1).long(), output_hidden_states=True)
            ours = model(ids, ids != 1)
            real = ids != 1
            assert float((ours.states_BTH - out.hidden_states[-1])[real].abs().max()) <= TOLERANCE
            words = model.masked_words(ours.states_BTH, real.flatten().nonzero().squeeze(1))
            assert float((words - out.logits[real]).abs().max()) <= TOLERANCE


def roberta_from_fairseq(raw: dict[str, torch.Tensor], args: argparse.Namespace) -> transformers.RobertaForMaskedLM:
    at = "decoder.sentence_encoder"
    peer = transformers.RobertaForMaskedLM(
        transformers.RobertaConfig(
            vocab_size=raw[f"{at}.embed_tokens.weight"].shape[0], hidden_size=args.encoder_embed_dim,
            num_hidden_layers=args.encoder_layers, num_attention_heads=args.encoder_attention_heads,
            intermediate_size=args.encoder_ffn_embed_dim, type_vocab_size=1, pad_token_id=1, layer_norm_eps=1e-5,
            max_position_embeddings=raw[f"{at}.embed_positions.weight"].shape[0],
        )
    ).eval()  # fmt: skip
    with torch.no_grad():
        e = peer.roberta.embeddings
        e.word_embeddings.weight.copy_(raw[f"{at}.embed_tokens.weight"])
        e.position_embeddings.weight.copy_(raw[f"{at}.embed_positions.weight"])
        e.token_type_embeddings.weight.zero_()
        copy(e.LayerNorm, raw, f"{at}.emb_layer_norm")
        for layer, module in enumerate(peer.roberta.encoder.layer):
            of = f"{at}.layers.{layer}"
            copy(module.attention.self.query, raw, f"{of}.self_attn.q_proj")
            copy(module.attention.self.key, raw, f"{of}.self_attn.k_proj")
            copy(module.attention.self.value, raw, f"{of}.self_attn.v_proj")
            copy(module.attention.output.dense, raw, f"{of}.self_attn.out_proj")
            copy(module.attention.output.LayerNorm, raw, f"{of}.self_attn_layer_norm")
            copy(module.intermediate.dense, raw, f"{of}.fc1")
            copy(module.output.dense, raw, f"{of}.fc2")
            copy(module.output.LayerNorm, raw, f"{of}.final_layer_norm")
        copy(peer.lm_head.dense, raw, "decoder.lm_head.dense")
        copy(peer.lm_head.layer_norm, raw, "decoder.lm_head.layer_norm")
        peer.lm_head.bias.copy_(raw["decoder.lm_head.bias"])
        peer.lm_head.decoder.bias = peer.lm_head.bias
    return peer


def copy(module: torch.nn.Module, raw: dict[str, torch.Tensor], name: str) -> None:
    module.weight.copy_(raw[f"{name}.weight"])
    module.bias.copy_(raw[f"{name}.bias"])


class TestUnilm:
    OPTIONS = {
        "vocab_size": 97, "hidden_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4,
        "intermediate_size": 96, "max_position_embeddings": 40, "type_vocab_size": 6, "hidden_act": "gelu",
    }  # fmt: skip

    def peer(self, eps: float = 1e-5) -> transformers.BertForPreTraining:
        torch.manual_seed(0)
        return transformers.BertForPreTraining(
            transformers.BertConfig(**self.OPTIONS, layer_norm_eps=eps, initializer_range=0.2)
        ).eval()

    def save(self, folder: Path, state: dict[str, torch.Tensor]) -> Path:
        torch.save(state, folder / "unilm1-base-cased.bin")
        (folder / "unilm1-base-cased-config.json").write_text(json.dumps(self.OPTIONS))
        return folder / "unilm1-base-cased.bin"

    @pytest.mark.parametrize("old", [False, True], ids=["weight-bias", "gamma-beta"])
    def test_six_segments_erf_and_its_own_epsilon(self, old: bool, tmp_path: Path) -> None:
        peer = self.peer()
        state = {
            (
                k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
                if old
                else k
            ): v
            for k, v in peer.state_dict().items()
        }
        checkpoint = read_checkpoint(self.save(tmp_path, state))
        assert checkpoint.source == "UniLM"
        assert checkpoint.config.norm_eps == 1e-5
        assert any("1e-5" in note for note in checkpoint.notes)
        ids, mask, _ = tokens(ROBERTA)
        segments = torch.randint(0, 6, ids.shape)
        with torch.inference_mode():
            theirs = peer.bert(ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
            ours = build(checkpoint)(ids, mask, segments).states_BTH
        assert float((ours - theirs)[mask.bool()].abs().max()) <= TOLERANCE

    def test_a_relaxed_head_is_left_out_aloud(self, tmp_path: Path) -> None:
        state = self.peer().state_dict()
        for name in ("dense.weight", "dense.bias", "LayerNorm.weight", "LayerNorm.bias"):
            key = f"cls.predictions.transform.{name}"
            state[key] = torch.cat([state[key]] * 4)
        checkpoint = read_checkpoint(self.save(tmp_path, state))
        assert checkpoint.config.mlm_head == "none"
        assert any("4 relaxed copies" in note for note in checkpoint.notes)
        assert "cls.predictions.transform.dense.weight" in checkpoint.left_out

    def test_no_config_beside_it(self, tmp_path: Path) -> None:
        torch.save(self.peer().state_dict(), tmp_path / "x.bin")
        with pytest.raises(AlbertineError, match="no config JSON"):
            read_checkpoint(tmp_path / "x.bin")


class Trap:
    """Unpickling this makes a folder."""

    def __init__(self, where: Path) -> None:
        self.where = where

    def __reduce__(self):
        return os.mkdir, (str(self.where),)


@pytest.mark.parametrize("archive", [False, True], ids=["legacy", "zip"])
@pytest.mark.parametrize("name", ["model.pt", "pytorch_model.bin"])
def test_a_pickle_that_wants_to_run_code_runs_none(name: str, archive: bool, tmp_path: Path) -> None:
    torch.save(
        {"model": {"x": torch.ones(2)}, "args": Trap(tmp_path / "ran")},
        tmp_path / name,
        _use_new_zipfile_serialization=archive,
    )
    with pytest.raises(AlbertineError, match=r"mkdir.*could run code") as caught:
        read_checkpoint(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)
    assert not (tmp_path / "ran").exists()


def test_no_reader_asks_the_unsafe_unpickler(tmp_path: Path) -> None:
    """Audit: while every format is read, pickle finds no class and nothing is executed."""
    from tests.support.golden import FOLDER

    torch.save({"model": {}, "args": argparse.Namespace()}, tmp_path / "model.pt")
    seen: list[str] = []
    active = True

    def watch(event: str, arguments: tuple) -> None:
        if active and event in ("pickle.find_class", "os.system", "subprocess.Popen", "os.exec"):
            seen.append(f"{event} {arguments}")

    sys.addaudithook(watch)
    for path in (tmp_path / "model.pt", FOLDER / "albert_shared", FOLDER / "bert"):
        try:
            read_checkpoint(path)
        except AlbertineError:
            assert path.name == "model.pt"
    active = False
    assert seen == []


class TestDamagedArchives:
    @pytest.fixture
    def archive(self, tmp_path: Path) -> Path:
        torch.save({"embeddings.word_embeddings.weight": torch.randn(500, 20)}, tmp_path / "x.bin")
        return tmp_path / "x.bin"

    def test_a_flipped_bit_in_the_numbers_is_found(self, archive: Path) -> None:
        raw = bytearray(archive.read_bytes())
        raw[len(raw) // 2] ^= 4
        archive.write_bytes(raw)
        with pytest.raises(AlbertineError, match="checksum"):
            read_checkpoint(archive)

    def test_every_truncation_is_found(self, archive: Path) -> None:
        raw = archive.read_bytes()
        for size in range(0, len(raw), len(raw) // 60):
            archive.write_bytes(raw[:size])
            with pytest.raises(AlbertineError, match=r"x\.bin"):
                read_checkpoint(archive)

    def test_a_pickle_of_something_else(self, tmp_path: Path) -> None:
        for value in ([1, 2], {"a": 1}, {"x": torch.ones(2)}):
            torch.save(value, tmp_path / "x.pt")
            with pytest.raises(AlbertineError, match=r"x\.pt"):
                read_checkpoint(tmp_path / "x.pt")


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@given(damage=st.data())
def test_damaged_pickles_never_surprise(damage: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Archives and the older format, cut, flipped and overwritten: a readable error, or a checkpoint."""
    folder = tmp_path_factory.getbasetemp() / "pickles"
    if not folder.exists():
        folder.mkdir()
        for name, archive in (("zip", True), ("legacy", False)):
            saved = {"model": random_model(ROBERTA).state_dict(), "args": argparse.Namespace(**settings_of())}
            torch.save(saved, folder / name, _use_new_zipfile_serialization=archive)
    raw = bytearray((folder / damage.draw(st.sampled_from(["zip", "legacy"]))).read_bytes())
    start = damage.draw(
        st.integers(0, len(raw) - 1) | st.integers(0, 3000) | st.integers(len(raw) - 3000, len(raw) - 1)
    )
    if damage.draw(st.booleans()):
        raw = raw[:start]
    else:
        chunk = damage.draw(st.binary(min_size=1, max_size=30))
        raw[start : start + len(chunk)] = chunk
    (folder / "x.pt").write_bytes(raw)
    try:
        read_checkpoint(folder / "x.pt")
    except AlbertineError as error:
        assert "x.pt" in str(error)
        assert "\n" not in str(error)


def test_tensors_that_claim_more_than_the_file_holds(tmp_path: Path) -> None:
    huge = torch.zeros(1).expand(2**31 - 1, 48)
    torch.save({"embeddings.word_embeddings.weight": huge}, tmp_path / "x.bin")
    with pytest.raises(AlbertineError, match="more than the file holds"):
        read_checkpoint(tmp_path / "x.bin")


@pytest.mark.parametrize("name", ["embeddings.word_embeddings.weight", "bert.embeddings.word_embeddings.weight"])
def test_berts_keys_with_and_without_their_prefix(name: str, tmp_path: Path) -> None:
    """SciBERT's layout: a bert_config.json beside a .bin."""
    peer = TestUnilm().peer(1e-12)
    prefix = name.removesuffix("embeddings.word_embeddings.weight")
    state = {k.replace("bert.", prefix, 1) if k.startswith("bert.") else k: v for k, v in peer.state_dict().items()}
    torch.save(state, tmp_path / "pytorch_model.bin")
    (tmp_path / "bert_config.json").write_text(json.dumps({**TestUnilm.OPTIONS, "layer_norm_eps": 1e-12}))
    checkpoint = read_checkpoint(tmp_path)
    assert torch.equal(checkpoint.tensors["embeddings.word.weight"].read(), peer.bert.embeddings.word_embeddings.weight)
