"""A path, or the id of a model on the Hugging Face hub, as a path."""

from __future__ import annotations

import re
from pathlib import Path

from albertine.errors import AlbertineError

# What a checkpoint is made of; code, other frameworks' weights and pictures stay where they are.
_WANTED = ["*.json", "*.safetensors", "pytorch_model*.bin", "*.txt", "*.model", "*.bpe"]
_UNWANTED = ["onnx/*", "openvino/*", "coreml/*", "rust_model*", "flax_model*", "tf_model*"]
_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


def resolve(path_or_id: str | Path) -> Path:
    """The path itself when something is there, else the hub's copy in the local cache."""
    path = Path(path_or_id).expanduser()
    if path.exists() or Path(f"{path}.index").is_file() or not _ID.fullmatch(str(path_or_id)):
        return path
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RepositoryNotFoundError

    try:
        return Path(snapshot_download(str(path_or_id), allow_patterns=_WANTED, ignore_patterns=_UNWANTED))
    except ValueError as error:
        raise AlbertineError(f"{path_or_id}: no such path here, and not an id of the hub") from error
    except RepositoryNotFoundError as error:
        raise AlbertineError(f"{path_or_id}: no such path here, and no such model on the hub") from error
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise AlbertineError(
            f"{path_or_id}: no such path here, and the hub cannot be reached ({type(error).__name__})"
        ) from error
