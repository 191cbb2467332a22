"""Every published format is recognised, and its ids are the original ones."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Backend

from albertine.errors import AlbertineError
from albertine.tokenizer import Tokenizer

NAMES = ["albert", "xlnet", "bert", "roberta", "amino", "words", "pattern"]


def tokens(tokenizer: Tokenizer, text: str, pair: str | None = None) -> list[str | None]:
    return [tokenizer.token(token) for token in tokenizer.encode(text, pair)]


@pytest.mark.parametrize(
    ("name", "kind", "text", "expected"),
    [
        ("albert", "unigram", "The  CATS [MASK].", "[CLS] ▁the ▁cat s [MASK] ▁ . [SEP]"),
        ("xlnet", "unigram", "The<mask>", "▁ T h e <mask> <sep> <cls>"),
        ("bert", "wordpiece", "The cats, [MASK]!", "[CLS] the cat ##s , [MASK] [UNK] [SEP]"),
        ("roberta", "bpe", "the cat <mask>", "<s> the Ġcat <mask> </s>"),
        ("amino", "wordlevel", "AC X<mask>E", "<s> A C <unk> <mask> E </s>"),
        ("words", "wordlevel", "the cat dog", "<s> the cat <unk> </s>"),
        ("pattern", "wordlevel", "Clc1[MASK]>>n2%", "[CLS] Cl c 1 [MASK] >> n 2 [UNK] [SEP]"),
    ],
)
def test_segmentation(tokenizers: dict[str, Tokenizer], name: str, kind: str, text: str, expected: str) -> None:
    tokenizer = tokenizers[name]
    assert tokenizer.kind == kind
    assert tokens(tokenizer, text) == expected.split(" ")
    assert tokenizer.encode(text, specials=False) == [
        token for token in tokenizer.encode(text) if token not in (tokenizer.cls_id, tokenizer.sep_id)
    ]


@pytest.mark.parametrize(
    ("name", "expected", "segments"),
    [
        ("albert", "[CLS] ▁cat [SEP] ▁the [SEP]", [0, 0, 0, 1, 1]),
        ("bert", "[CLS] cat [SEP] the [SEP]", [0, 0, 0, 1, 1]),
        ("roberta", "<s> c at </s> </s> the </s>", [0] * 7),
        ("xlnet", "▁cat <sep> ▁the <sep> <cls>", [0, 0, 1, 1, 2]),
    ],
)
def test_pairs(tokenizers: dict[str, Tokenizer], name: str, expected: str, segments: list[int]) -> None:
    tokenizer = tokenizers[name]
    assert tokens(tokenizer, "cat", "the") == expected.split(" ")
    batch = tokenizer.batch(["cat"], pairs=["the"])
    assert batch.segments_BT[0].tolist() == segments
    assert tokenizer.uses_segments == any(segments)


def test_special_ids(tokenizers: dict[str, Tokenizer]) -> None:
    def ids(name: str) -> list[int | None]:
        t = tokenizers[name]
        return [t.pad_id, t.unk_id, t.cls_id, t.sep_id, t.mask_id, t.vocab_size]

    assert ids("albert") == [0, 1, 2, 3, 4, 41]
    assert ids("xlnet") == [5, 0, 3, 4, 6, 44]
    assert ids("bert") == [0, 1, 2, 3, 4, 13]
    assert ids("roberta") == [1, 3, 0, 2, 266, 267]
    assert ids("amino") == [1, 3, 0, 2, 8, 9]


def test_roberta_numbering(tokenizers: dict[str, Tokenizer]) -> None:
    roberta = tokenizers["roberta"]
    assert roberta.id("Ġcat") == 4
    assert roberta.token(265) == "madeupword0000"
    assert roberta.decode(roberta.encode("the cat, 猫")) == "the cat, 猫"


def test_digit_comma_rule(folders: dict[str, Path]) -> None:
    tokenizer = Tokenizer.load(folders["albert"])
    assert tokenizer.digit_comma_rule
    assert tokens(tokenizer, "20, 0,")[1:-1] == ["▁20", ",", "▁", "0", ","]
    tokenizer.digit_comma_rule = False
    assert tokens(tokenizer, "20, 0,")[1:-1] == ["▁20,", "▁", "0,"]


def test_the_rule_survives_a_folder_written_for_stock_libraries(folders: dict[str, Path], tmp_path: Path) -> None:
    """Scores are penalised in the file, where the library alone comes close, and restored to the bit."""
    tokenizer = Tokenizer.load(folders["albert"])
    tokenizer.save(tmp_path)
    alone = Backend.from_file(str(tmp_path / "tokenizer.json"))
    assert alone.encode("20, 0,").tokens[1:-1] == ["▁20", ",", "▁", "0", ","]
    again = Tokenizer.load(tmp_path)
    assert again.digit_comma_rule
    assert json.loads(again.backend.to_str())["model"] == json.loads(tokenizer.backend.to_str())["model"]


@pytest.mark.parametrize("name", NAMES)
def test_saved_folder_gives_the_same_ids_and_bytes(tokenizers: dict[str, Tokenizer], name: str, tmp_path: Path) -> None:
    tokenizer = tokenizers[name]
    written = tokenizer.save(tmp_path / "one")
    again = Tokenizer.load(tmp_path / "one")
    assert again.save(tmp_path / "two") == written
    for file in written:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    for text in ("the cats, 20, [MASK] <mask>", "", "c1[nH]>>", "é " * 40):
        assert again.encode(text, "the 1.") == tokenizer.encode(text, "the 1.")
    assert again.padding_side == tokenizer.padding_side
    assert (again.kind, again.names, again.vocab_size) == (
        tokenizer.kind,
        tokenizer.names,
        tokenizer.vocab_size,
    )


def test_files_beside_the_vocabulary(folders: dict[str, Path], tmp_path: Path) -> None:
    shutil.copy(folders["bert"] / "vocab.txt", tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false, "model_max_length": 64}')
    (tmp_path / "special_tokens_map.json").write_text('{"mask_token": {"content": "sat"}}')
    tokenizer = Tokenizer.load(tmp_path / "vocab.txt")
    assert tokens(tokenizer, "The cat sat") == ["[CLS]", "[UNK]", "cat", "sat", "[SEP]"]
    assert tokenizer.mask_id == tokenizer.id("sat")
    assert tokenizer.max_length == 64


def test_guesses_are_noted(tokenizers: dict[str, Tokenizer]) -> None:
    assert "text is lower-cased: no tokens start with a capital" in tokenizers["bert"].notes
    assert "text is left in its case: the vocabulary has capitals" in tokenizers["xlnet"].notes


def test_last_of_two_equal_tokens_counts(tmp_path: Path) -> None:
    vocab = tmp_path / "vocab.txt"
    vocab.write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\ncat\ncat\n")
    tokenizer = Tokenizer.load(vocab)
    assert tokenizer.encode("cat") == [2, 5, 3]
    assert tokenizer.vocab_size == 6
    assert any("'cat'" in note for note in tokenizer.notes)
    assert tokenizer.mask_id is None
    assert "no mask token in the vocabulary" in tokenizer.notes


def test_gpt2_without_fairseq_has_no_special_tokens(folders: dict[str, Path], tmp_path: Path) -> None:
    for name in ("encoder.json", "vocab.bpe"):
        shutil.copy(folders["roberta"] / name, tmp_path)
    tokenizer = Tokenizer.load(tmp_path)
    assert tokens(tokenizer, "the cat") == ["the", "Ġcat"]
    assert tokenizer.pad_id is None
    with pytest.raises(AlbertineError, match="no padding token"):
        tokenizer.batch(["the", "the cat"])


def test_foreign_tokenizer_json(tokenizers: dict[str, Tokenizer], tmp_path: Path) -> None:
    """Older files hold their own kinds of post-processor, padding and truncation."""
    bert = json.loads(tokenizers["bert"].backend.to_str())
    bert["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    bert["truncation"] = {"max_length": 2, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    (tmp_path / "tokenizer.json").write_text(json.dumps(bert))
    assert Tokenizer.load(tmp_path).encode("cat", "the sat") == tokenizers["bert"].encode("cat", "the sat")

    roberta = json.loads(tokenizers["roberta"].backend.to_str())
    roberta["post_processor"] = {
        "type": "RobertaProcessing",
        "sep": ["</s>", 2],
        "cls": ["<s>", 0],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    (tmp_path / "tokenizer.json").write_text(json.dumps(roberta))
    assert Tokenizer.load(tmp_path).encode("cat", "the") == tokenizers["roberta"].encode("cat", "the")


def test_pattern_that_is_not_plain(folders: dict[str, Path], tmp_path: Path) -> None:
    """Whoever gives a pattern is trusted; the file that it is saved in is not."""
    tokenizer = Tokenizer.from_pattern(folders["pattern"] / "vocab.txt", "(?:[a-z]+[0-9]+)+|.")
    assert any("trust=True" in note for note in tokenizer.notes)
    tokenizer.save(tmp_path)
    with pytest.raises(AlbertineError, match="trust=True"):
        Tokenizer.load(tmp_path)
    assert Tokenizer.load(tmp_path, trust=True).encode("c1") == tokenizer.encode("c1")


@pytest.mark.data
def test_rxnmapper(shared_data: Path) -> None:
    pattern = (
        r"(\%\([0-9]{3}\)|\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\||\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>>?"
        r"|\*|\$|\%[0-9]{2}|[0-9])"
    )
    folder = shared_data / "weights" / "rxnmapper-albert"
    tokenizer = Tokenizer.from_pattern(folder / "vocab.txt", pattern)
    reactions = (folder / "reactions.txt").read_text().splitlines()
    rows = [tokenizer.encode(line, specials=False) for line in reactions]
    assert sum(map(len, rows)) == 231
    assert tokenizer.vocab_size == 591
    assert all(tokenizer.unk_id not in row for row in rows)


@pytest.mark.data
def test_published_roberta_numbering(shared_data: Path) -> None:
    folder = shared_data / "tokenizers" / "roberta-gpt2bpe"
    expected = json.loads((folder / "vocab.roberta-derived.json").read_text())
    assert Tokenizer.load(folder).backend.get_vocab() == expected
