"""How a sentence vector is made of token states: sentence-transformers' own files, both ways.

`modules.json` names the classes of a pipeline. They are read as names and never imported; a pipeline that is not
Transformer, Pooling and perhaps Normalize is refused, because its vectors would be others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from albertine.errors import AlbertineError
from albertine.files import read_bytes, read_json

_FLAGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
_INSTEAD = "remove modules.json to read the encoder without its sentence vectors"


@dataclass(frozen=True)
class Pooling:
    """Token states → one vector."""

    mode: str = "mean"  # mean, cls or max
    normalize: bool = False
    max_length: int | None = None
    lower_case: bool = False  # of the text, before the tokenizer


def read_pooling(folder: Path) -> Pooling | None:
    """The pipeline beside an encoder, if there is one."""
    file = folder / "modules.json"
    if not file.is_file():
        return None
    kinds = [(str(module.get("type", "")).rsplit(".", 1)[-1], str(module.get("path", ""))) for module in _modules(file)]
    names = [kind for kind, _ in kinds]
    if names not in (["Transformer"], ["Transformer", "Pooling"], ["Transformer", "Pooling", "Normalize"]):
        raise AlbertineError(f"{file}: a pipeline of {', '.join(names) or 'nothing'} is not supported; {_INSTEAD}")
    mode = _mode(folder, kinds[1][1], file) if len(kinds) > 1 else "mean"
    limits = _limits(folder / kinds[0][1])
    limit = limits.get("max_seq_length")
    return Pooling(
        mode,
        "Normalize" in names,
        limit if isinstance(limit, int) and limit > 0 else None,
        limits.get("do_lower_case") is True,
    )


def _modules(file: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(read_bytes(file))
    except (ValueError, RecursionError) as error:
        raise AlbertineError(f"{file}: not JSON ({error})") from error
    if not isinstance(found, list) or not all(isinstance(module, dict) for module in found):
        raise AlbertineError(f"{file}: a list of modules was expected")
    return found


def _mode(folder: Path, inside: str, modules: Path) -> str:
    if Path(inside).name != inside:
        raise AlbertineError(f"{modules}: {inside!r} leads out of the directory")
    file = folder / inside / "config.json"
    options = read_json(file)
    flagged = [flag for flag, value in options.items() if flag.startswith("pooling_mode_") and value is True]
    if not flagged and isinstance(options.get("pooling_mode"), str):
        flagged = [flag for flag, mode in _FLAGS.items() if mode == options["pooling_mode"]]
    if len(flagged) != 1 or flagged[0] not in _FLAGS:
        raise AlbertineError(f"{file}: its way of pooling is not supported (one of mean, cls, max is); {_INSTEAD}")
    return _FLAGS[flagged[0]]


def _limits(folder: Path) -> dict[str, Any]:
    file = folder / "sentence_bert_config.json"
    return read_json(file) if file.is_file() else {}


def write_pooling(pooling: Pooling, hidden: int, folder: Path) -> None:
    """What makes sentence-transformers pool as the source did."""
    base = "sentence_transformers.models"
    modules = [{"idx": 0, "name": "0", "path": "", "type": f"{base}.Transformer"}]
    modules.append({"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{base}.Pooling"})
    if pooling.normalize:
        modules.append({"idx": 2, "name": "2", "path": "2_Normalize", "type": f"{base}.Normalize"})
    _write(folder / "modules.json", modules)
    (folder / "1_Pooling").mkdir()
    chosen: dict[str, object] = {flag: mode == pooling.mode for flag, mode in _FLAGS.items()}
    _write(folder / "1_Pooling" / "config.json", {"word_embedding_dimension": hidden, **chosen})
    limits = {"max_seq_length": pooling.max_length, "do_lower_case": pooling.lower_case}
    _write(folder / "sentence_bert_config.json", {name: value for name, value in limits.items() if value is not None})


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", "utf-8")
