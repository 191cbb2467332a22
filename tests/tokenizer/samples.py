"""Small tokenizers made here, in every published format."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from tests.tokenizer.oracles import byte_alphabet

NORMAL, UNKNOWN, CONTROL, USER_DEFINED = 1, 2, 3, 4
PATTERN = r"(\[[^\]]+]|Br?|Cl?|[a-z]|>>?|\%[0-9]{2}|[0-9])"


def varint(number: int) -> bytes:
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def block(number: int, payload: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def piece(text: str, score: float, kind: int) -> bytes:
    return block(1, block(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + number(3, kind))


def spiece_model(*, xlnet: bool = False, trainer: bytes = b"", normalizer: bytes = b"") -> bytes:
    """A unigram model with ALBERT's special symbols, or XLNet's."""
    if xlnet:
        special = [
            ("<unk>", UNKNOWN),
            *((t, CONTROL) for t in ("<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>")),
        ]
    else:
        special = [
            ("<pad>", CONTROL),
            ("<unk>", UNKNOWN),
            *((t, CONTROL) for t in ("[CLS]", "[SEP]", "[MASK]")),
        ]
    words = [
        ("▁the", -3.0),
        ("▁cat", -4.0),
        ("s", -3.5),
        ("▁", -2.5),
        (",", -3.1),
        ("▁20,", -4.0),
        ("▁20", -4.5),
    ]
    words += [("0,", -4.2), ("0", -5.0), ("2", -5.0), *((c, -6.0) for c in "abcdefghijklmnopqrtuvwxyz")]
    words += [("T", -6.0)] if xlnet else []
    pieces = [piece(text, 0.0, kind) for text, kind in [*special, (".", USER_DEFINED)]]
    pieces += [piece(text, score, NORMAL) for text, score in words]
    return b"".join(pieces) + block(2, number(3, 1) + trainer) + block(3, normalizer)


WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "sat", ",", ".", "20", "1"]


def write_all(folder: Path) -> dict[str, Path]:
    """One folder a format."""
    made = {name: folder / name for name in ("albert", "xlnet", "bert", "roberta", "amino", "words", "pattern")}
    for path in made.values():
        path.mkdir(parents=True)
    (made["albert"] / "spiece.model").write_bytes(spiece_model())
    (made["xlnet"] / "spiece.model").write_bytes(spiece_model(xlnet=True))
    (made["bert"] / "vocab.txt").write_text("\n".join(WORDS) + "\n", encoding="utf-8")
    (made["pattern"] / "vocab.txt").write_text("\n".join([*WORDS[:5], *"cno123", ">>", "Cl"]), encoding="utf-8")
    (made["amino"] / "dict.txt").write_text("".join(f"{c} 1\n" for c in "ACDE"), encoding="utf-8")
    (made["words"] / "dict.txt").write_text("the 9\ncat 3\n", encoding="utf-8")
    write_roberta(made["roberta"])
    return made


def write_roberta(folder: Path) -> None:
    """GPT-2's files and fairseq's numbering of them, backwards."""
    symbols = [*byte_alphabet().values(), "th", "the", "Ġc", "at", "Ġcat"]
    merges = ["t h", "th e", "Ġ c", "a t", "Ġc at"]
    (folder / "encoder.json").write_text(json.dumps({s: n for n, s in enumerate(symbols)}), encoding="utf-8")
    (folder / "vocab.bpe").write_text("#version: 0.2\n" + "\n".join(merges) + "\n", encoding="utf-8")
    numbers = "".join(f"{n} 1\n" for n in reversed(range(len(symbols))))
    (folder / "dict.txt").write_text(numbers + "madeupword0000 0\n", encoding="utf-8")
