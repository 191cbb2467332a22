"""BERT's tokenizer: `vocab.txt`, one token a line, the line number its id."""

from __future__ import annotations

from pathlib import Path

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, normalizers, pre_tokenizers

from albertine.errors import AlbertineError
from albertine.files import read_bytes, read_lines
from albertine.tokenizer.guard import guarded
from albertine.tokenizer.parts import Parts, absent_notes, add_specials, present, set_layout
from albertine.tokenizer.settings import Settings

NAMES = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
_LONGEST_WORD = 200  # characters, as in the original code; the library's own default is 100


def read_wordpiece(path: Path, settings: Settings) -> Parts:
    """`vocab.txt` → parts."""
    vocab, notes = read_vocab(path)
    names = present({**NAMES, **settings.names}, vocab, ("unk", "cls", "sep"), str(path))
    lower_case = settings.lower_case
    if lower_case is None:
        lower_case = not any("A" <= token[:1] <= "Z" for token in vocab)
        found = "no tokens start" if lower_case else "tokens start"
        notes.append(f"text is {'lower-cased' if lower_case else 'left in its case'}: {found} with a capital")
    with guarded(str(path)):
        backend = Backend(models.WordPiece(vocab, unk_token=names["unk"], max_input_chars_per_word=_LONGEST_WORD))
        backend.normalizer = normalizers.BertNormalizer(
            clean_text=True,
            handle_chinese_chars=settings.chinese_chars is not False,
            strip_accents=settings.strip_accents,
            lowercase=lower_case,
        )
        backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        backend.decoder = decoders.WordPiece("##")
        add_specials(backend, list(names.values()))
        set_layout(backend, "bert", names)
    return Parts(
        backend=backend,
        kind="wordpiece",
        names=names,
        padding_side=settings.padding_side or "right",
        max_length=settings.max_length,
        notes=[*notes, *absent_notes(names)],
        originals={"vocab.txt": read_bytes(path)},
    )


def read_vocab(path: Path) -> tuple[dict[str, int], list[str]]:
    """Token → line number. The last of two equal lines wins, as in the original code; that is noted."""
    vocab: dict[str, int] = {}
    repeated: list[str] = []
    for index, line in enumerate(read_lines(path)):
        token = line.strip()
        if token in vocab:
            repeated.append(token)
        if token:
            vocab[token] = index
    if not vocab:
        raise AlbertineError(f"{path}: an empty vocabulary")
    if not repeated:
        return vocab, []
    note = f"{path.name}: {len(repeated)} tokens stand there twice ({repeated[0][:40]!r}); the last line counts"
    return vocab, [note]
