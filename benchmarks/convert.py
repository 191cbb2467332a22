"""Time and memory of conversions: ALBERT-base, and checkpoints of a gigabyte and more, random weights.

Memory is the peak resident size of a fresh process, above what it holds once everything is imported.

    python benchmarks/convert.py [--only NAME]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.support.bundle import write_bundle

from albertine.interchange.google import place
from albertine.model.shapes import shapes
from albertine.presets import preset
from common import write_results

CASES = [
    ("albert-base-v2", "tf1", True),
    ("albert-base-v2", "tf1", False),
    ("bert-large-uncased", "tf1", False),
    ("bert-large-uncased", "safetensors", False),
    ("bert-large-uncased", "pickle", False),
    ("albert_xxlarge_zh post-LN", "tf1", False),
]
_WORKER = """
import resource, sys, time
from pathlib import Path
from albertine.interchange.convert import convert
import albertine.interchange.parity
if sys.argv[3] == "True":
    import transformers
def status(field):
    line = next(l for l in open("/proc/self/status") if l.startswith(field))
    return int(line.split()[1]) * 1024
Path("/proc/self/clear_refs").write_text("5")
base, start = status("VmRSS"), time.perf_counter()
convert(Path(sys.argv[1]), Path(sys.argv[2]), parity=sys.argv[3] == "True")
print(time.perf_counter() - start, status("VmHWM") - base)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    rows = []
    for name, form, parity in CASES:
        if only in f"{name} {form}":
            with tempfile.TemporaryDirectory() as folder:
                rows.append(measure(name, form, parity, Path(folder)))
            print(*rows[-1].values(), sep="\t", flush=True)
    print(write_results("convert", rows))


def measure(name: str, form: str, parity: bool, folder: Path) -> dict[str, object]:
    source, target = folder / "source", folder / "target"
    source.mkdir()
    make_source(name, form, source)
    worker = [sys.executable, "-c", _WORKER, str(source), str(target), str(parity)]
    inside, peak = map(float, subprocess.check_output(worker, text=True).split())
    whole = whole_command(source, folder / "again", parity)
    largest = max(size(source), size(target))
    return {
        "model": name,
        "source": form,
        "parity": parity,
        "source_MB": round(size(source) / 1e6),
        "target_MB": round(size(target) / 1e6),
        "seconds_inside": round(inside, 2),
        "seconds_whole_command": round(whole, 2),
        "peak_MB_above_imports": round(peak / 1e6),
        "peak_over_larger": round(peak / largest, 2),
    }


def whole_command(source: Path, target: Path, parity: bool) -> float:
    command = [sys.executable, "-m", "albertine", "convert", str(source), str(target)]
    start = time.perf_counter()
    subprocess.check_output(command if parity else [*command, "--no-parity"])
    return time.perf_counter() - start


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def make_source(name: str, form: str, folder: Path) -> None:
    """A checkpoint as its own framework would have written it, with random numbers."""
    config = preset(name.split()[0])
    if "post-LN" in name:
        config = config.with_(norm="post")
    rng = np.random.default_rng(0)
    if form == "tf1":
        variables = sorted((tf, config_shape) for tf, config_shape in tf_shapes(config).items())
        write_bundle(folder / "model.ckpt", ((tf, rng.standard_normal(s, np.float32) * 0.02) for tf, s in variables))
        (folder / "albert_config.json").write_text(json.dumps(tf_config(config)))
        return
    import transformers

    stock = transformers.BertForPreTraining(
        transformers.BertConfig(
            vocab_size=config.vocab_size,
            hidden_size=config.hidden_size,
            num_hidden_layers=config.num_layers,
            num_attention_heads=config.num_heads,
            intermediate_size=config.intermediate_size,
        )
    )
    stock.save_pretrained(folder)
    if form == "pickle":
        (folder / "model.safetensors").unlink()
        torch.save(stock.state_dict(), folder / "pytorch_model.bin")


def tf_shapes(config) -> dict[str, tuple[int, ...]]:
    """The variables of the published graph, found by asking the reader where each name would go."""
    layer = {"E": "encoder/transformer/group_0/inner_group_0", "H": "encoder/layer_shared"}[config.embedding_space]
    layers = [layer] if str(config.sharing) == "all" else [f"encoder/layer_{n}" for n in range(config.num_layers)]
    names = ["embeddings/word_embeddings", "embeddings/word_embeddings_2", "embeddings/position_embeddings"]
    names += ["embeddings/token_type_embeddings", "cls/predictions/output_bias", "cls/seq_relationship/output_bias"]
    names += ["cls/seq_relationship/output_weights"]
    blocks = ["embeddings", "encoder/embedding_hidden_mapping_in", "pooler/dense", "cls/predictions/transform/dense"]
    blocks += ["cls/predictions/transform"]
    for at in layers:
        blocks += [f"{at}/attention_1/{p}" for p in ("self/query", "self/key", "self/value", "output/dense")]
        blocks += [f"{at}/attention/{p}" for p in ("self/query", "self/key", "self/value", "output/dense", "output")]
        blocks += [f"{at}/ffn_1/intermediate/dense", f"{at}/ffn_1/intermediate/output/dense", at]
        blocks += [f"{at}/intermediate/dense", f"{at}/output/dense", f"{at}/output"]
    leaves = ["kernel", "bias", "LayerNorm/gamma", "LayerNorm/beta", "LayerNorm_1/gamma", "LayerNorm_1/beta"]
    names += [f"{block}/{leaf}" for block in blocks for leaf in leaves]
    ours = shapes(config)
    found: dict[str, tuple[int, ...]] = {}
    for name in names:
        slot = place(f"bert/{name}")
        key = slot.ours.replace(".0-0.", ".0.") if slot else ""
        if slot is None or key not in ours:
            continue
        shape = ours[key] if slot.part is None else (ours[key][0] // 3, *ours[key][1:])
        found[f"bert/{name}"] = shape[::-1] if slot.transposed else shape
    return found


def tf_config(config) -> dict[str, object]:
    return {
        "vocab_size": config.vocab_size,
        "embedding_size": config.embedding_size,
        "hidden_size": config.hidden_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "intermediate_size": config.intermediate_size,
        "max_position_embeddings": config.max_positions,
        "type_vocab_size": config.num_types,
        "hidden_act": "gelu",
    }


if __name__ == "__main__":
    main()
