"""What lies beside a vocabulary: `tokenizer_config.json` and `special_tokens_map.json`, both optional."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from albertine.errors import AlbertineError
from albertine.files import read_json
from albertine.tokenizer.batch import Side

ROLES = ("pad", "unk", "cls", "sep", "mask")
# Classes whose vocabularies look like BERT's or RoBERTa's, but which cut words by other means first.
_UNSUPPORTED = ("BertJapaneseTokenizer", "BertweetTokenizer", "PhobertTokenizer", "HerbertTokenizer")
_ENDLESS = 10**9  # transformers writes 10^30 for "no limit"


@dataclass(frozen=True)
class Settings:
    """The options that change ids; None where the files do not say."""

    names: dict[str, str] = field(default_factory=dict)  # role → token
    lower_case: bool | None = None
    strip_accents: bool | None = None
    keep_accents: bool | None = None
    chinese_chars: bool | None = None
    digit_comma_rule: bool | None = None
    digit_comma_penalty: float | None = None  # what our own folders took off the scores
    max_length: int | None = None
    padding_side: Side | None = None


def read_settings(folder: Path) -> Settings:
    """The settings of a tokenizer folder; the special tokens' own file goes first."""
    config_path, map_path = folder / "tokenizer_config.json", folder / "special_tokens_map.json"
    config = read_json(config_path) if config_path.is_file() else {}
    special = read_json(map_path) if map_path.is_file() else {}
    names = {**_names(config, config_path), **_names(special, map_path)}
    if config.get("tokenizer_class") in _UNSUPPORTED:
        raise AlbertineError(f"{config_path}: {config['tokenizer_class']} is not supported")
    side = config.get("padding_side")
    if side not in (None, "left", "right"):
        raise AlbertineError(f"{config_path}: padding_side has to be left or right, not {str(side)[:40]!r}")
    return Settings(
        names=names,
        lower_case=_flag(config, "do_lower_case", config_path),
        strip_accents=_flag(config, "strip_accents", config_path),
        keep_accents=_flag(config, "keep_accents", config_path),
        chinese_chars=_flag(config, "tokenize_chinese_chars", config_path),
        digit_comma_rule=_flag(config, "digit_comma_rule", config_path),
        digit_comma_penalty=_penalty(config.get("digit_comma_penalty"), config_path),
        max_length=_max_length(config.get("model_max_length"), config_path),
        padding_side=side,
    )


def _names(options: dict[str, Any], path: Path) -> dict[str, str]:
    names: dict[str, str] = {}
    for role in ROLES:
        value = options.get(f"{role}_token")
        if isinstance(value, dict):
            value = value.get("content")
        if value is None:
            continue
        if not isinstance(value, str) or not value:
            raise AlbertineError(f"{path}: {role}_token has to be text, not {str(value)[:40]!r}")
        names[role] = value
    return names


def _flag(options: dict[str, Any], name: str, path: Path) -> bool | None:
    value = options.get(name)
    if value is not None and not isinstance(value, bool):
        raise AlbertineError(f"{path}: {name} has to be true or false, not {str(value)[:40]!r}")
    return value


def _penalty(value: Any, path: Path) -> float | None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise AlbertineError(f"{path}: digit_comma_penalty has to be a number, not {str(value)[:40]!r}")
    return value


def _max_length(value: Any, path: Path) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 1:
        raise AlbertineError(f"{path}: model_max_length has to be a positive number, not {str(value)[:40]!r}")
    return int(value) if value < _ENDLESS else None
