"""Everything that a stock model can compute is written as one, opens in `transformers`, and comes back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from albertine.errors import AlbertineError
from albertine.interchange.checkpoint import build, snapshot
from albertine.interchange.convert import convert
from albertine.interchange.folder import read_folder, write_folder
from albertine.interchange.huggingface.read import read_huggingface
from albertine.interchange.huggingface.stock import stock_form
from albertine.interchange.parity import compare
from albertine.interchange.recognise import read_checkpoint
from albertine.interchange.stock_forward import StockForward
from tests.support.models import BERT, BRIGHTMART, EXPRESSIBLE, PRE, ROBERTA, config, random_model, tokens

TOLERANCE = 1e-5


@pytest.fixture(params=EXPRESSIBLE, ids=lambda name: name.replace(" ", "_"))
def written(request: pytest.FixtureRequest, tmp_path: Path):
    options, family = EXPRESSIBLE[request.param]
    model = random_model(options)
    form = write_folder(snapshot(model, Path("memory")), tmp_path / "out")
    assert form is not None
    assert form.family == family
    return options, model, tmp_path / "out"


def test_transformers_computes_the_same(written) -> None:
    _, model, folder = written
    source = snapshot(model, Path("memory"))
    proof = compare(source, folder, stock_form(source.config))
    assert proof.by.startswith("transformers")
    assert proof.worst <= TOLERANCE
    assert ("masked words" in proof.parts) == (model.mlm is not None)


def test_our_own_stock_code_computes_the_same(written) -> None:
    options, model, folder = written
    ids, mask, segments = tokens(options)
    real = mask.bool()
    with torch.inference_mode():
        states = model(ids, mask, segments).states_BTH
        stock = StockForward(folder)(ids, mask, segments)
        assert float((states - stock.states_BTH)[real].abs().max()) <= TOLERANCE
        if stock.words_BTV is not None:
            words = model.masked_words(states, real.flatten().nonzero().squeeze(1))
            assert float((words - stock.words_BTV[real]).abs().max()) <= TOLERANCE
        if stock.pairs_B2 is not None:
            assert float((model.pairs(states) - stock.pairs_B2).abs().max()) <= TOLERANCE


def test_our_export_comes_back_to_the_byte(written) -> None:
    options, model, folder = written
    back = read_folder(folder)
    assert back.config == config(options)
    state = model.state_dict()
    assert back.tensors.keys() == state.keys()
    assert all(torch.equal(back.tensors[name].read(), tensor) for name, tensor in state.items())


def test_the_stock_files_alone_round_trip_to_the_byte(written, tmp_path: Path) -> None:
    _, _, folder = written
    (folder / "albertine.json").unlink()
    write_folder(read_huggingface(folder, {}), tmp_path / "again")
    first, second = (
        load_file(folder / "model.safetensors"),
        load_file(tmp_path / "again" / "model.safetensors"),
    )
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({**BRIGHTMART, "norm": "pre"}, "normalises the embeddings"),
        ({**BRIGHTMART, **PRE, "final_norm": False}, "lacks"),
        ({**PRE}, "in the hidden space"),
        ({"embedding_norm": False}, "without an embedding LayerNorm"),
        ({**BRIGHTMART, "mlm_head": "embedding"}, "works in E"),
        ({"mlm_head": "hidden"}, "works in H"),
        ({**ROBERTA, "mlm_activation": "relu"}, "gelu_erf"),
        ({"mlm_activation": "relu"}, "relu differs"),
    ],
)
def test_what_no_stock_model_computes_is_refused_with_the_reason(options: dict, reason: str, tmp_path: Path) -> None:
    with pytest.raises(AlbertineError, match=reason):
        stock_form(config(options))
    model = random_model(options)
    with pytest.raises(AlbertineError, match=reason):
        write_folder(snapshot(model, Path("memory")), tmp_path / "out")
    assert not any(tmp_path.iterdir())
    write_folder(snapshot(model, Path("memory")), tmp_path / "own", to="albertine")
    back = build(read_folder(tmp_path / "own"))
    assert all(torch.equal(back.state_dict()[name], tensor) for name, tensor in model.state_dict().items())


STOCK = {
    "albert": (
        transformers.AlbertForPreTraining,
        transformers.AlbertConfig(
            vocab_size=97, embedding_size=16, hidden_size=48, num_hidden_layers=4, num_attention_heads=4,
            intermediate_size=96, max_position_embeddings=40, initializer_range=0.1,
        ),
    ),
    "albert groups": (
        transformers.AlbertForMaskedLM,
        transformers.AlbertConfig(
            vocab_size=97, embedding_size=16, hidden_size=48, num_hidden_layers=5, num_attention_heads=4,
            num_hidden_groups=2, inner_group_num=3, intermediate_size=96, max_position_embeddings=40,
            hidden_act="relu", initializer_range=0.1,
        ),
    ),
    "bert": (
        transformers.BertForPreTraining,
        transformers.BertConfig(
            vocab_size=97, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96,
            max_position_embeddings=40, initializer_range=0.1,
        ),
    ),
    "bert headless": (
        transformers.BertModel,
        transformers.BertConfig(
            vocab_size=97, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96,
            max_position_embeddings=40, hidden_act="silu", initializer_range=0.1,
        ),
    ),
    "bert untied": (
        transformers.BertForMaskedLM,
        transformers.BertConfig(
            vocab_size=97, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96,
            max_position_embeddings=40, tie_word_embeddings=False, initializer_range=0.1,
        ),
    ),
    "roberta": (
        transformers.RobertaForMaskedLM,
        transformers.RobertaConfig(
            vocab_size=97, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96,
            max_position_embeddings=42, type_vocab_size=1, pad_token_id=1, initializer_range=0.1,
        ),
    ),
    "megatron-bert": (
        transformers.MegatronBertForPreTraining,
        transformers.MegatronBertConfig(
            vocab_size=97, hidden_size=48, num_hidden_layers=3, num_attention_heads=4, intermediate_size=96,
            max_position_embeddings=40, initializer_range=0.1,
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STOCK)
@pytest.mark.parametrize("form", ["safetensors", "sharded", "bin"])
def test_models_that_transformers_wrote(name: str, form: str, tmp_path: Path) -> None:
    """Random stock weights, in every container: the same numbers here, and every tensor back to the byte."""
    kind, options = STOCK[name]
    torch.manual_seed(3)
    stock = kind(options).eval()
    for parameter in stock.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, 0.4, 0.2)
    save_stock(stock, tmp_path / "in", form)
    checkpoint = read_huggingface(tmp_path / "in", {})
    assert checkpoint.left_out == []
    form = write_folder(checkpoint, tmp_path / "out")
    assert form is not None
    assert compare(checkpoint, tmp_path / "out", form).worst <= TOLERANCE
    original = stock.state_dict()
    again = kind.from_pretrained(tmp_path / "out").state_dict()
    assert original.keys() == again.keys()
    unread = {"cls.predictions.bias"} if name == "bert untied" else set()
    assert all(torch.equal(original[key], again[key]) for key in original.keys() - unread)
    ids, mask, segments = tokens({**(ROBERTA if name == "roberta" else BERT)})
    real = mask.bool()
    with torch.inference_mode():
        model = build(checkpoint)
        theirs = stock.base_model(ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
        ours = model(ids, mask, segments).states_BTH
        assert float((theirs - ours)[real].abs().max()) <= TOLERANCE
        if model.mlm is not None:
            out = stock(ids, attention_mask=mask, token_type_ids=segments)
            logits = out.logits if "logits" in out else out.prediction_logits
            words = model.masked_words(ours, real.flatten().nonzero().squeeze(1))
            assert float((words - logits[real]).abs().max()) <= TOLERANCE
        if model.pair is not None:
            pairs = out.sop_logits if "sop_logits" in out else out.seq_relationship_logits
            assert float((model.pairs(ours) - pairs).abs().max()) <= TOLERANCE


def save_stock(model: transformers.PreTrainedModel, folder: Path, form: str) -> None:
    if form == "bin":
        folder.mkdir()
        model.config.architectures = [type(model).__name__]
        model.config.save_pretrained(folder)
        torch.save(model.state_dict(), folder / "pytorch_model.bin")
    else:
        model.save_pretrained(folder, max_shard_size="20KB" if form == "sharded" else "5GB")
        assert (folder / "model.safetensors.index.json").is_file() == (form == "sharded")


def test_older_key_layouts(tmp_path: Path) -> None:
    """gamma and beta, DataParallel's prefix, no prefix at all."""
    kind, options = STOCK["bert"]
    stock = kind(options).eval()
    for rename in (
        lambda k: k.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"),
        lambda k: f"module.{k}",
        lambda k: k.removeprefix("bert."),
    ):
        folder = tmp_path / str(hash(rename))
        save_stock(stock, folder, "bin")
        torch.save({rename(k): v for k, v in stock.state_dict().items()}, folder / "pytorch_model.bin")
        checkpoint = read_huggingface(folder, {})
        assert checkpoint.left_out == []
        assert torch.equal(checkpoint.tensors["embeddings.norm.weight"].read(), stock.bert.embeddings.LayerNorm.weight)


@pytest.mark.parametrize("name", ["albert", "bert headless", "bert", "roberta"])
def test_configs_from_before_they_named_their_model(name: str, tmp_path: Path) -> None:
    kind, options = STOCK[name]
    stock = kind(options).eval()
    save_stock(stock, tmp_path / "in", "bin")
    settings = json.loads((tmp_path / "in" / "config.json").read_text())
    for newer in ("model_type", "architectures", "transformers_version"):
        del settings[newer]
    (tmp_path / "in" / "config.json").write_text(json.dumps(settings))
    checkpoint = read_checkpoint(tmp_path / "in")
    ids, mask, segments = tokens({**(ROBERTA if name == "roberta" else BERT)})
    with torch.inference_mode():
        theirs = stock.base_model(ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
        ours = build(checkpoint)(ids, mask, segments).states_BTH
    assert float((theirs - ours)[mask.bool()].abs().max()) <= TOLERANCE


def test_stock_auto_classes_open_what_we_write(tmp_path: Path) -> None:
    for name in ("albert", "bert", "roberta", "pre-LN"):
        options, _ = EXPRESSIBLE[name]
        write_folder(snapshot(random_model(options), Path("memory")), tmp_path / name)
        for auto in (transformers.AutoModelForMaskedLM, transformers.AutoModelForPreTraining, transformers.AutoModel):
            model, report = auto.from_pretrained(tmp_path / name, output_loading_info=True)
            assert {key for key in report["missing_keys"] if "pooler" not in key} == set(), type(model)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_precision_is_kept(dtype: torch.dtype, tmp_path: Path) -> None:
    model = random_model({}).to(dtype)
    write_folder(snapshot(model, Path("memory")), tmp_path / "out")
    assert json.loads((tmp_path / "out" / "config.json").read_text())["torch_dtype"] == str(dtype).split(".")[1]
    back = build(read_folder(tmp_path / "out"))
    assert all(tensor.dtype == dtype for tensor in back.state_dict().values())


def test_writing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    checkpoint = snapshot(random_model({}), Path("memory"))
    for name in ("one", "two"):
        write_folder(checkpoint, tmp_path / name)
    for file in (tmp_path / "one").iterdir():
        assert file.read_bytes() == (tmp_path / "two" / file.name).read_bytes()


class TestTheProofItself:
    """Targets that were damaged after writing: the proof has to notice each of them."""

    @pytest.mark.parametrize("by", ["transformers", "our stock code"])
    @pytest.mark.parametrize(
        "name",
        [
            "predictions.bias",
            "sop_classifier.classifier.bias",
            "albert.pooler.bias",
            "albert.embeddings.position_embeddings.weight",
            "albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.bias",
        ],
    )
    @pytest.mark.parametrize("value", [float("nan"), 3.0])
    def test_one_wrong_number(self, by: str, name: str, value: float, tmp_path: Path, monkeypatch) -> None:
        if by == "our stock code":
            monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
        source = snapshot(random_model({}), Path("memory"))
        form = write_folder(source, tmp_path / "out")
        assert form is not None
        tensors = load_file(tmp_path / "out" / "model.safetensors")
        tensors[name].view(-1)[-1] += value
        save_file(tensors, tmp_path / "out" / "model.safetensors", metadata={"format": "pt"})
        assert not compare(source, tmp_path / "out", form).holds

    def test_a_target_without_its_heads(self, tmp_path: Path) -> None:
        source = snapshot(random_model({}), Path("memory"))
        form = write_folder(source, tmp_path / "out")
        assert form is not None
        options = json.loads((tmp_path / "out" / "config.json").read_text())
        for stock in ("AlbertModel", "AlbertForMaskedLM"):
            (tmp_path / "out" / "config.json").write_text(json.dumps(options | {"architectures": [stock]}))
            with pytest.raises(AlbertineError, match="does not know|computes no"):
                compare(source, tmp_path / "out", form)

    def test_a_source_with_a_nan_in_a_head_is_not_written(self, tmp_path: Path) -> None:
        model = random_model({})
        model.mlm.bias.data[3] = float("nan")
        source = snapshot(model, Path("memory"))
        write_folder(source, tmp_path / "in", to="albertine")
        with pytest.raises(AlbertineError, match="not written"):
            convert(tmp_path / "in", tmp_path / "out")
