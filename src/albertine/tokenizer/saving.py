"""A folder that the stock `transformers` tokenizer opens with the same ids."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend

from albertine.errors import AlbertineError
from albertine.tokenizer.batch import Side
from albertine.tokenizer.guard import guarded
from albertine.tokenizer.unigram import PENALTY, penalise_digit_commas


def write_tokenizer(
    folder: Path,
    backend: Backend,
    names: dict[str, str],
    *,
    originals: dict[str, bytes],
    padding_side: Side,
    max_length: int | None,
    uses_segments: bool,
    digit_comma_rule: bool,
) -> list[str]:
    """Write all files of a tokenizer; the same tokenizer always gives the same bytes."""
    special = {f"{role}_token": token for role, token in names.items()}
    if names.get("cls") == "<s>" and "sep" in names:
        special |= {"bos_token": names["cls"], "eos_token": names["sep"]}
    with guarded("tokenizer.json"):
        serialized = json.loads(backend.to_str())
    if digit_comma_rule:
        penalise_digit_commas(serialized["model"]["vocab"])
    config: dict[str, Any] = {
        **special,
        "added_tokens_decoder": _added(serialized),
        "clean_up_tokenization_spaces": False,
        "model_input_names": _inputs(uses_segments),
        "padding_side": padding_side,
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    if max_length is not None:
        config["model_max_length"] = max_length
    if digit_comma_rule:
        config["digit_comma_penalty"] = PENALTY
    files = {
        **originals,
        "tokenizer.json": _json(serialized, sort_keys=False),
        "tokenizer_config.json": _json(config),
        "special_tokens_map.json": _json(special),
    }
    _write(folder, files)
    return sorted(files)


def _inputs(uses_segments: bool) -> list[str]:
    return ["input_ids", *(["token_type_ids"] if uses_segments else []), "attention_mask"]


def _added(serialized: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Special tokens by id, with the flags that say how they are found in text."""
    return {
        str(entry["id"]): {name: value for name, value in entry.items() if name != "id"}
        for entry in serialized["added_tokens"]
    }


def _json(value: Any, *, sort_keys: bool = True) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=2, sort_keys=sort_keys) + "\n").encode()


def _write(folder: Path, files: dict[str, bytes]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (folder / name).write_bytes(data)
    except OSError as error:
        raise AlbertineError(f"{folder}: cannot be written ({error.strerror or error})") from error
