"""`albertine doctor`: what is installed, what works, what is wrong with a folder."""

from __future__ import annotations

import importlib.util
import json
import os
import platform
import shutil
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from albertine._version import __version__
from albertine.errors import AlbertineError

_CORE = (
    "torch",
    "numpy",
    "tokenizers",
    "safetensors",
    "huggingface_hub",
    "google-crc32c",
    "cyclopts",
    "rich",
)
_EXTRAS = {"hf": ("transformers",)}


@dataclass(frozen=True)
class Finding:
    """One line of the report; `state` is ok, note or bad."""

    what: str
    state: str
    says: str


def examine(path: Path | None, *, as_json: bool = False) -> bool:
    """Print every finding; whether nothing is bad."""
    findings = [*_environment(), *_packages(), *_devices(), *(_checkpoint(path) if path else [])]
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        marks = {"ok": "✓", "note": "·", "bad": "✗"}
        for finding in findings:
            print(f"{marks[finding.state]} {finding.what:<16} {finding.says}")
    healthy = all(finding.state != "bad" for finding in findings)
    if not as_json:
        ending = f"Next: albertine plan {path or 'albert-base-v2'}" if healthy else "Mend the lines marked ✗."
        print(ending)
    return healthy


def _environment() -> list[Finding]:
    supported = (3, 11) <= sys.version_info[:2] <= (3, 13)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    free = shutil.disk_usage(Path.cwd()).free / 2**30
    return [
        Finding("albertine", "ok", __version__),
        Finding("python", "ok" if supported else "bad", f"{platform.python_version()} (3.11 to 3.13 are tested)"),
        Finding("machine", "ok", f"{platform.system()} {platform.machine()}, {cores} cores"),
        Finding("disk", "ok" if free > 5 else "note", f"{free:.0f} GiB free here"),
    ]


def _packages() -> list[Finding]:
    found: list[Finding] = []
    for name in _CORE:
        version = _version(name)
        says = version or f"missing: pip install {name}"
        found.append(Finding(name, "ok" if version else "bad", says))
    for extra, names in _EXTRAS.items():
        for name in names:
            version = _version(name)
            says = version or f"not installed (pip install 'albertine[{extra}]'); parity then uses our own stock code"
            found.append(Finding(name, "ok" if version else "note", says))
    if importlib.util.find_spec("torchvision") and "+cpu" in (_version("torch") or ""):
        says = "installed beside a CPU build of torch: it often breaks transformers (pip uninstall torchvision)"
        found.append(Finding("torchvision", "note", says))
    return found


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _devices() -> list[Finding]:
    if _version("torch") is None:
        return []
    import torch

    found: list[Finding] = []
    for index in range(torch.cuda.device_count()):
        card = torch.cuda.get_device_properties(index)
        found.append(Finding(f"cuda:{index}", "ok", f"{card.name}, {card.total_memory / 2**30:.0f} GiB"))
    if not found:
        found.append(Finding("accelerator", "note", "none; everything runs on the CPU"))
    compiler = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")
    says = compiler or "no C++ compiler: compiled layers are not available on the CPU"
    return [*found, Finding("compiler", "ok" if compiler else "note", says)]


def _checkpoint(path: Path) -> list[Finding]:
    """Whether a checkpoint opens, whole and undamaged, with the tokenizer that lies beside it."""
    from albertine.hub import resolve
    from albertine.interchange.checkpoint import build
    from albertine.interchange.convert import load_tokenizer
    from albertine.interchange.huggingface.stock import stock_form
    from albertine.interchange.recognise import read_checkpoint
    from albertine.model.shapes import count

    try:
        checkpoint = read_checkpoint(resolve(path))
        model = build(checkpoint)
    except AlbertineError as error:
        return [Finding("checkpoint", "bad", str(error))]
    found = [Finding("checkpoint", "ok", f"{checkpoint.source}, {count(checkpoint.config):,} parameters")]
    damaged = [name for name, tensor in model.state_dict().items() if not bool(tensor.isfinite().all())]
    if damaged:
        found.append(Finding("numbers", "bad", f"NaN or infinity in {damaged[0]} ({len(damaged)} tensors)"))
    try:
        tokenizer = load_tokenizer(checkpoint)
        says = f"{tokenizer.kind}, {tokenizer.vocab_size:,} tokens" if tokenizer else "none beside the checkpoint"
        found.append(Finding("tokenizer", "ok" if tokenizer else "note", says))
    except AlbertineError as error:
        found.append(Finding("tokenizer", "bad", str(error)))
    try:
        found.append(Finding("export", "ok", f"stock {stock_form(checkpoint.config).family}"))
    except AlbertineError as error:
        found.append(Finding("export", "note", str(error)))
    return found
