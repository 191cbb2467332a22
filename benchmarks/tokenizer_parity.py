"""On how many real lines our tokenizers, and what we export, give the original's ids.

The originals are written out from their published code in tests/tokenizer/oracles.py, on SentencePiece where
they use it. Needs the real corpora and vocabularies (ALBERTINE_SHARED, or ../shared).

    python benchmarks/tokenizer_parity.py [--lines 60000]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tokenizers import Tokenizer as Backend

from common import write_results

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.tokenizer.oracles import BertOracle, SentencePieceOracle, lines, roberta_oracle

from albertine.tokenizer import Tokenizer

DATA = Path(os.environ.get("ALBERTINE_SHARED", ROOT.parent / "shared")) / "data"
PUBLISHED = DATA / "tokenizers"
ENGLISH = ("en_heldout_wiki", "en_heldout_books", "en_wiki95_books95")
CHINESE = ("zh_heldout_wiki_simp", "zh_wiki120_simp")
Oracle = Callable[[str], list[int]]


def cases() -> list[tuple[str, Path, tuple[str, ...], Oracle]]:
    albert, xlnet = (PUBLISHED / name / "spiece.model" for name in ("albert-en-30k", "xlnet-en"))
    bert, chinese = (PUBLISHED / name / "vocab.txt" for name in ("bert-base-uncased", "bert-base-chinese"))
    unilm = PUBLISHED / "unilm-cased" / "unilm-base-cased-vocab.txt"
    gpt2 = PUBLISHED / "roberta-gpt2bpe"
    return [
        ("ALBERT", albert, ENGLISH, SentencePieceOracle(albert, lower=True, quotes=False, rule=True)),
        ("XLNet", xlnet, ENGLISH, SentencePieceOracle(xlnet, lower=False, quotes=True, rule=True)),
        ("BERT uncased", bert, ENGLISH, BertOracle(bert, lower=True)),
        ("BERT Chinese", chinese, CHINESE, BertOracle(chinese, lower=True)),
        ("UniLM cased", unilm, ENGLISH, BertOracle(unilm, lower=False)),
        ("RoBERTa", gpt2, ENGLISH, roberta_oracle(gpt2 / "vocab.roberta-derived.json", gpt2 / "vocab.bpe")),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=60_000)
    limit = parser.parse_args().lines
    rows = []
    for name, path, corpora, oracle in cases():
        texts = lines(DATA, *corpora, limit=limit)
        rows.append(compare(name, Tokenizer.load(path), oracle, texts))
        print(*rows[-1].values(), sep="\t", flush=True)
    print(write_results("tokenizer_parity", rows))


def compare(name: str, tokenizer: Tokenizer, oracle: Oracle, texts: list[str]) -> dict[str, object]:
    wanted = [oracle(text) for text in texts]
    ours = [tokenizer.encode(text, specials=False) for text in texts]
    with tempfile.TemporaryDirectory() as folder:
        tokenizer.save(folder)
        backend = Backend.from_file(str(Path(folder) / "tokenizer.json"))
        exported = [found.ids for found in backend.encode_batch(texts, add_special_tokens=False)]
    differ, stock = (sum(a != b for a, b in zip(found, wanted, strict=True)) for found in (ours, exported))
    return {
        "tokenizer": name,
        "lines": len(texts),
        "ours_differ": differ,
        "exported_tokenizer_json_differ": stock,
        "exported_identical_percent": round(100 * (1 - stock / len(texts)), 3),
    }


if __name__ == "__main__":
    main()
