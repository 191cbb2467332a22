"""The directories that we write: stock files for everybody, `albertine.json` for ourselves.

`albertine.json` keeps the encoder's own config, how each stock tensor follows from ours, and the size
and SHA-256 of every file. What stock files cannot give back to the byte (tables that were multiplied
out, a head without a place) lies beside them in `albertine.safetensors`. So our own exports come back
exactly, and any flipped bit is found.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from albertine._version import __version__
from albertine.config import EncoderConfig
from albertine.errors import AlbertineError
from albertine.files import read_json
from albertine.interchange.checkpoint import Checkpoint, assemble, check
from albertine.interchange.huggingface.config_json import has_pretraining_heads, write_config
from albertine.interchange.huggingface.names import PREFIX
from albertine.interchange.huggingface.stock import StockForm, stock_form
from albertine.interchange.pooling import read_pooling, write_pooling
from albertine.interchange.publish import MANIFEST, published
from albertine.interchange.safetensors_file import read_safetensors, write_safetensors
from albertine.interchange.tensors import Lazy
from albertine.tokenizer import Tokenizer

Format = Literal["huggingface", "albertine"]
SCHEMA = 1


def write_folder(
    checkpoint: Checkpoint,
    target: Path,
    *,
    tokenizer: Tokenizer | None = None,
    to: Format = "huggingface",
    overwrite: bool = False,
    before_publishing: Callable[[Path, StockForm | None], None] | None = None,
) -> StockForm | None:
    """Publish the checkpoint as a directory; how it was expressed for `transformers`, when it was."""
    form = stock_form(checkpoint.config) if to == "huggingface" else None
    with published(target, overwrite=overwrite) as work:
        hashes: dict[str, str] = {}
        if form is not None:
            hashes["model.safetensors"] = _write_stock(checkpoint, form, work, tokenizer)
        kept = list(checkpoint.tensors) if form is None else form.kept
        if kept:
            ours = {name: checkpoint.tensors[name] for name in kept}
            hashes["albertine.safetensors"] = write_safetensors(work / "albertine.safetensors", ours)
        if tokenizer is not None:
            tokenizer.save(work, longest=checkpoint.config.max_positions)
        if checkpoint.pooling is not None:
            write_pooling(checkpoint.pooling, checkpoint.config.hidden_size, work)
        _write_manifest(checkpoint, form, work, hashes)
        if before_publishing is not None:
            before_publishing(work, form)
    return form


def _write_stock(checkpoint: Checkpoint, form: StockForm, work: Path, tokenizer: Tokenizer | None) -> str:
    special = _special_ids(tokenizer) if tokenizer is not None else {}
    options = write_config(checkpoint.config, form.family, special)
    options["torch_dtype"] = str(checkpoint.tensors["embeddings.word.weight"].dtype).removeprefix("torch.")
    _write_json(work / "config.json", options)
    prefix = "" if has_pretraining_heads(options) else PREFIX[form.family]
    tensors = {name.removeprefix(prefix): lazy for name, lazy in stock_tensors(checkpoint.tensors, form).items()}
    return write_safetensors(work / "model.safetensors", tensors)


def stock_tensors(ours: dict[str, Lazy], form: StockForm) -> dict[str, Lazy]:
    """The stock model's tensors, as they follow from ours."""
    found: dict[str, Lazy] = {}
    for name, slot in form.names.items():
        found[name] = ours[slot.ours] if slot.part is None else ours[slot.ours].part(slot.part, 3)
    return {**{name: derive(ours) for name, derive in form.derived.items()}, **found}


def _special_ids(tokenizer: Tokenizer) -> dict[str, int]:
    named = {"bos_token_id": tokenizer.cls_id, "eos_token_id": tokenizer.sep_id}
    return {name: value for name, value in named.items() if value is not None}


def _write_manifest(checkpoint: Checkpoint, form: StockForm | None, work: Path, hashes: dict[str, str]) -> None:
    files = {
        str(path.relative_to(work)): {
            "bytes": path.stat().st_size,
            "sha256": hashes.get(path.name) or _sha256(path),
        }
        for path in sorted(work.rglob("*"))
        if path.is_file()
    }
    manifest = {
        "schema": SCHEMA,
        "written_by": f"albertine {__version__}",
        "source": checkpoint.source,
        "stock": form.family if form else None,
        "encoder": checkpoint.config.to_dict(),
        "kept": form.kept if form else sorted(checkpoint.tensors),
        "notes": checkpoint.notes + (form.notes if form else []),
        "files": files,
    }
    _write_json(work / MANIFEST, {**manifest, "sha256": _digest(manifest)})


def _digest(manifest: Mapping[str, Any]) -> str:
    """Of everything else in the manifest, so that a bit flipped in it is found as well."""
    rest = {name: value for name, value in manifest.items() if name != "sha256"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def read_folder(folder: Path) -> Checkpoint:
    """A directory of our own, back to the byte."""
    manifest = read_json(folder / MANIFEST)
    if manifest.get("schema") != SCHEMA:
        raise AlbertineError(
            f"{folder / MANIFEST}: schema {manifest.get('schema')!r}; this version reads {SCHEMA}. Upgrade albertine"
        )
    if manifest.get("sha256") != _digest(manifest):
        raise AlbertineError(f"{folder / MANIFEST}: its own SHA-256 does not match: damaged, or changed by hand")
    _verify(folder, manifest)
    config = _config(folder, manifest)
    tensors: dict[str, Lazy] = {}
    table = {}
    if manifest.get("stock"):
        form = stock_form(config)
        table = form.names
        stock = read_safetensors(folder / _listed(manifest, "model.safetensors", folder))
        prefix = PREFIX[form.family]
        tensors = assemble({**stock, **{prefix + name: lazy for name, lazy in stock.items()}}, table)
    if manifest.get("kept"):
        tensors |= read_safetensors(folder / _listed(manifest, "albertine.safetensors", folder))
    checkpoint = Checkpoint(
        config, tensors, str(manifest.get("source", "albertine")), folder, folder, read_pooling(folder)
    )
    return check(checkpoint, table, f"{folder / MANIFEST}")


def _listed(manifest: Mapping[str, Any], name: str, folder: Path) -> str:
    """A file that has been verified: one that the manifest lists."""
    if name not in manifest["files"]:
        raise AlbertineError(f"{folder / MANIFEST}: does not list {name}, which it needs")
    return name


def _config(folder: Path, manifest: dict[str, Any]) -> EncoderConfig:
    options = manifest.get("encoder")
    if not isinstance(options, dict):
        raise AlbertineError(f"{folder / MANIFEST}: has no encoder config")
    try:
        return EncoderConfig.from_dict(options)
    except (AlbertineError, TypeError) as error:
        raise AlbertineError(f"{folder / MANIFEST}: {error}") from error


def _verify(folder: Path, manifest: dict[str, Any]) -> None:
    """Every file as it was written: its size and its hash."""
    files = manifest.get("files")
    if not isinstance(files, dict):
        raise AlbertineError(f"{folder / MANIFEST}: lists no files")
    for name, entry in files.items():
        # By its name alone: in the hub's cache the files themselves are links to elsewhere.
        if not re.fullmatch(r"(1_Pooling/)?[\w.-]{1,100}", name) or name.endswith(("/..", "/.")) or name in ("..", "."):
            raise AlbertineError(f"{folder / MANIFEST}: {name!r} leads out of the directory")
        path = folder / name
        if not isinstance(entry, dict) or not path.is_file():
            raise AlbertineError(f"{path}: missing, though {MANIFEST} lists it")
        if path.stat().st_size != entry.get("bytes"):
            raise AlbertineError(
                f"{path}: {path.stat().st_size} bytes instead of {entry.get('bytes')}: truncated, or {_CHANGED}"
            )
        if _sha256(path) != entry.get("sha256"):
            raise AlbertineError(f"{path}: its SHA-256 is not the one in {MANIFEST}: damaged, or {_CHANGED}")


_CHANGED = f"changed since it was written (then remove {MANIFEST} to read the stock files as they are)"


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")
