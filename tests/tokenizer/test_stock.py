"""A saved folder opens in stock transformers and sentence-transformers with the same ids."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from albertine.tokenizer import Tokenizer
from tests.tokenizer.oracles import SentencePieceOracle, lines

transformers = pytest.importorskip("transformers")

TEXTS = ["the cats, 20, of the [MASK] and <mask>.", "", "Cats é 20,", "c1>>n2", "ACX E"]
MODEL_TYPES = ["albert", "bert", "roberta", "megatron-bert", "xlnet"]


def assert_same(folder: Path, tokenizer: Tokenizer, texts: list[str]) -> None:
    stock = transformers.AutoTokenizer.from_pretrained(folder)
    assert stock(texts)["input_ids"] == [tokenizer.encode(text) for text in texts]
    pairs = texts[::-1]
    found = stock(texts, pairs, padding=True, return_tensors="np", truncation=False)
    batch = tokenizer.batch(texts, pairs=pairs, max_length=4096)
    assert (found["input_ids"] == batch.ids_BT).all()
    assert (found["attention_mask"] == batch.real_BT).all()
    assert ("token_type_ids" in found) == tokenizer.uses_segments
    if tokenizer.uses_segments:
        assert ((found["token_type_ids"] == batch.segments_BT) | ~batch.real_BT).all()
    for role in ("pad", "unk", "cls", "sep", "mask"):
        assert getattr(stock, f"{role}_token_id") == getattr(tokenizer, f"{role}_id")


@pytest.mark.parametrize("model_type", [None, *MODEL_TYPES])
@pytest.mark.parametrize("name", ["albert", "xlnet", "bert", "roberta", "amino", "words", "pattern"])
def test_auto_tokenizer(tokenizers: dict[str, Tokenizer], name: str, model_type: str | None, tmp_path: Path) -> None:
    """The class that transformers knows for the model beside the tokenizer does not take over."""
    tokenizer = tokenizers[name]
    with_rule = tokenizer.digit_comma_rule
    tokenizer.digit_comma_rule = False
    tokenizer.save(tmp_path)
    if model_type is not None:
        (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    try:
        assert_same(tmp_path, tokenizer, TEXTS)
    finally:
        tokenizer.digit_comma_rule = with_rule


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "model_type"),
    [
        ("albert-en-30k", "albert"),
        ("xlnet-en", "xlnet"),
        ("bert-base-uncased", "bert"),
        ("bert-base-chinese", "albert"),
        ("unilm-cased/unilm-base-cased-vocab.txt", "megatron-bert"),
        ("roberta-gpt2bpe", "roberta"),
    ],
)
def test_auto_tokenizer_on_real_lines(shared_data: Path, name: str, model_type: str, tmp_path: Path) -> None:
    tokenizer = Tokenizer.load(shared_data / "tokenizers" / name)
    tokenizer.digit_comma_rule = False
    tokenizer.save(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}))
    texts = lines(shared_data, "en_heldout_wiki", limit=300) + lines(shared_data, "zh_heldout_wiki_simp", limit=100)
    assert_same(tmp_path, tokenizer, texts)


@pytest.mark.data
def test_stock_albert_follows_the_digit_comma_rule_nearly_everywhere(shared_data: Path, tmp_path: Path) -> None:
    """The rule acts after segmentation, which tokenizer.json cannot say; scores come close to it."""
    path = shared_data / "tokenizers" / "albert-en-30k" / "spiece.model"
    Tokenizer.load(path).save(tmp_path)
    texts = lines(shared_data, "en_heldout_wiki", "en_heldout_books", limit=10_500)
    oracle = SentencePieceOracle(path, lower=True, quotes=False, rule=True)
    stock = transformers.AutoTokenizer.from_pretrained(tmp_path)(texts, add_special_tokens=False)["input_ids"]
    again = Tokenizer.load(tmp_path)
    wanted = [oracle(text) for text in texts]
    assert sum(a != b for a, b in zip(stock, wanted, strict=True)) <= len(texts) / 1000
    ours = [again.encode(text, specials=False) for text in texts]
    assert sum(a != b for a, b in zip(ours, wanted, strict=True)) <= 1


def tiny(tokenizer: Tokenizer, config: str, model: str, folder: Path, **options: object) -> None:
    """A random model of stock transformers, with our tokenizer beside it."""
    settings = getattr(transformers, config)(
        vocab_size=tokenizer.vocab_size,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        pad_token_id=tokenizer.pad_id,
        **options,
    )
    getattr(transformers, model)(settings).save_pretrained(folder)
    tokenizer.save(folder)


@pytest.mark.parametrize(
    ("name", "config", "model", "options"),
    [
        ("albert", "AlbertConfig", "AlbertForMaskedLM", {"embedding_size": 8}),
        ("bert", "BertConfig", "BertForMaskedLM", {}),
        ("roberta", "RobertaConfig", "RobertaForMaskedLM", {"type_vocab_size": 1}),
    ],
)
def test_pipelines(
    tokenizers: dict[str, Tokenizer],
    name: str,
    config: str,
    model: str,
    options: dict[str, object],
    tmp_path: Path,
) -> None:
    tokenizer = tokenizers[name]
    tiny(tokenizer, config, model, tmp_path, **options)
    mask = tokenizer.token(tokenizer.mask_id or 0)
    answers = transformers.pipeline("fill-mask", str(tmp_path))(f"the {mask} cat")
    assert [tokenizer.token(answer["token"]) for answer in answers]

    sentence_transformers = pytest.importorskip("sentence_transformers")
    embedder = sentence_transformers.SentenceTransformer(str(tmp_path), device="cpu")
    assert embedder.encode(["the cat", "the"]).shape == (2, 16)
