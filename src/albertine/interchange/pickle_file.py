"""PyTorch's pickles, opened by the unpickler that runs no code.

Zip archives (PyTorch 1.6 and later) are mapped into memory, and their checksums verified. The older
format has no checksums: a truncated file is noticed, a flipped bit is not.
"""

from __future__ import annotations

import argparse
import re
import zipfile
from pathlib import Path
from typing import Any

import torch

from albertine.errors import AlbertineError
from albertine.interchange.safetensors_file import WRITABLE
from albertine.interchange.tensors import Lazy, given


def read_pickle(file: Path) -> dict[str, Any]:
    """The dictionary in a `.bin` or `.pt` file; tensors on the CPU, nothing executed."""
    try:
        archived = zipfile.is_zipfile(file)
        if archived:
            _verify(file)
        with torch.serialization.safe_globals([argparse.Namespace]):
            value = torch.load(file, map_location="cpu", weights_only=True, mmap=archived)
    except AlbertineError:
        raise
    except Exception as error:
        # The unpickler raises whatever its damaged input leads to; all of it means "not readable".
        raise AlbertineError(f"{file}: {_reason(error)}") from error
    if not isinstance(value, dict):
        raise AlbertineError(f"{file}: a dictionary was expected, not {type(value).__name__}")
    return value


def tensors_of(value: dict[str, Any], file: Path) -> dict[str, Lazy]:
    """The tensors among a dictionary's values, by name."""
    found = {n: t.detach() for n, t in value.items() if isinstance(n, str) and isinstance(t, torch.Tensor)}
    for name, tensor in found.items():
        if tensor.layout != torch.strided or tensor.dtype not in WRITABLE:
            raise AlbertineError(f"{file}: {name} is {tensor.layout} {tensor.dtype}, which is not supported")
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise AlbertineError(f"{file}: {name} claims shape {list(tensor.shape)}, more than the file holds")
    return {name: given(tensor, f"{file.name}: {name}") for name, tensor in found.items()}


def _verify(file: Path) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            # PyTorch stores its records uncompressed: anything else could unpack to any size.
            packed = [entry.filename for entry in archive.infolist() if entry.compress_type != zipfile.ZIP_STORED]
            damaged = packed[0] if packed else archive.testzip()
    except Exception as error:
        # zipfile raises whatever damaged bytes lead it to, UnicodeDecodeError included.
        raise AlbertineError(f"{file}: not a whole PyTorch archive ({error})") from error
    if damaged:
        raise AlbertineError(f"{file}: the checksum of {damaged} does not match; the file is damaged")


def _reason(error: Exception) -> str:
    if match := re.search(r"(?:Unsupported global: GLOBAL|GLOBAL) (\S+)", str(error)):
        return (
            f"the pickle asks for {match[1]}, which could run code; nothing was loaded. "
            "Save it again as safetensors, or as a plain dictionary of tensors"
        )
    first = str(error).strip().splitlines()[0][:160] if str(error).strip() else ""
    return f"not a readable PyTorch file, or damaged ({type(error).__name__}: {first})"
