"""What every benchmark writes beside its figures."""

from __future__ import annotations

import csv
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path

RESULTS = Path(__file__).resolve().parent / "results"


def provenance() -> dict[str, str]:
    """Commit, machine, versions and command: the columns that end every row."""
    return {
        "commit": _COMMIT,
        "machine": _machine(),
        "torch": metadata.version("torch"),
        "command": "python " + " ".join([Path(sys.argv[0]).as_posix(), *sys.argv[1:]]),
    }


def write_results(name: str, rows: Sequence[Mapping[str, object]]) -> Path:
    """`results/NAME.csv`, one row a measurement."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.csv"
    origin = provenance()
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, [*rows[0], *origin])
        writer.writeheader()
        writer.writerows({**row, **origin} for row in rows)
    return path


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    changed = subprocess.run(["git", "status", "--porcelain", "src"], capture_output=True, text=True, check=False)
    return found.stdout.strip() + ("+" if changed.stdout.strip() else "")


def _machine() -> str:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        lines = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        cpu = lines[0].split(":", 1)[1].strip() if lines else cpu
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{cpu}, {torch.get_num_threads()} threads"


_COMMIT = _commit()  # of the code as it was when the run began
