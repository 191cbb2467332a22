"""The command line as a person and a script meet it: real processes, real exit codes."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from albertine.encoder import Encoder
from albertine.interchange.recognise import read_checkpoint
from albertine.interchange.tensorflow import read_bundle
from albertine.model.shapes import count
from albertine.tokenizer import Tokenizer
from tests.support.bundle import write_bundle
from tests.support.golden import FOLDER
from tests.support.models import BERT, random_model

ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "COLUMNS": "120"}


def run(*words: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "albertine", *map(str, words)]
    return subprocess.run(
        command, input=stdin, capture_output=True, text=True, env=ENVIRONMENT, timeout=120, check=False
    )


def fails(*words: str | Path, says: str, stdin: str = "") -> None:
    """One line on standard error, exit code 2, nothing on standard output."""
    done = run(*words, stdin=stdin)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert says in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "on", "mat", "##s", "."]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    Encoder(random_model(BERT), Tokenizer.load(folder / "vocab.txt")).save_pretrained(folder / "out")
    return folder / "out"


def test_help_is_quick_and_names_every_verb() -> None:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        done = run("--help")
        times.append(time.perf_counter() - start)
        assert done.returncode == 0
    for verb in ("plan", "convert", "fill", "embed", "doctor"):
        assert verb in done.stdout
        assert run(verb, "--help").returncode == 0
    assert statistics.median(times) < 0.3


def test_import_is_quick_and_brings_no_torch() -> None:
    script = (
        "import time, sys; t = time.perf_counter(); import albertine; t = time.perf_counter() - t;"
        "print(t, 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    found = [subprocess.check_output([sys.executable, "-c", script], text=True).split() for _ in range(5)]
    assert statistics.median(float(seconds) for seconds, *_ in found) < 0.06
    assert all(rest == ["False", "False"] for _, *rest in found)


def test_planning_needs_no_torch() -> None:
    script = "import sys; from albertine.plan import run; run(['bert-tiny']); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


class TestPlan:
    def test_json(self) -> None:
        done = run("plan", "albert-base-v2", "--json")
        assert json.loads(done.stdout)[0]["parameters"]["backbone"] == 11_683_584

    def test_a_checkpoint_instead_of_a_name(self) -> None:
        done = run("plan", FOLDER / "albert_groups", "--json")
        assert done.returncode == 0, done.stderr
        parameters = count(read_checkpoint(FOLDER / "albert_groups").config)
        assert json.loads(done.stdout)[0]["parameters"]["with_heads"] == parameters

    def test_errors(self) -> None:
        fails("plan", "albert-bse-v2", says="Did you mean 'albert-base-v2'")
        fails("plan", says="Name one")


class TestConvert:
    def test_says_what_it_did_and_what_comes_next(self, tmp_path: Path) -> None:
        done = run("convert", FOLDER / "albert_shared", tmp_path / "out")
        assert done.returncode == 0, done.stderr
        assert "google-research/albert → stock albert: 63,149 parameters" in done.stdout
        assert "parity with transformers" in done.stdout
        assert f"Next: albertine plan {tmp_path / 'out'}" in done.stdout

    def test_json(self, tmp_path: Path) -> None:
        done = run("convert", FOLDER / "albert_zh", tmp_path / "out", "--json")
        found = json.loads(done.stdout)
        assert found["stock"] == "bert"
        assert found["parity"]["parts"]["states"]["largest"] <= 1e-5
        assert found["parity"]["holds"] is True

    def test_what_stock_cannot_compute_and_our_own_format(self, tmp_path: Path) -> None:
        fails("convert", FOLDER / "albert_zh_preln", tmp_path / "out", says="--to albertine")
        assert list(tmp_path.iterdir()) == []
        assert run("convert", FOLDER / "albert_zh_preln", tmp_path / "out", "--to", "albertine").returncode == 0
        assert run("doctor", tmp_path / "out").returncode == 0

    def test_numbers_that_are_none_are_not_published(self, tmp_path: Path) -> None:
        """Parity is checked before anything appears: a NaN equals nothing."""
        arrays = {name: lazy.read().numpy() for name, lazy in read_bundle(FOLDER / "bert" / "model.ckpt").items()}
        arrays["bert/encoder/layer_1/output/dense/bias"][3] = np.nan
        (tmp_path / "in").mkdir()
        write_bundle(tmp_path / "in" / "model.ckpt", arrays)
        shutil.copy(FOLDER / "bert" / "bert_config.json", tmp_path / "in")
        fails("convert", tmp_path / "in", tmp_path / "out", says="not written")
        assert [path.name for path in tmp_path.iterdir()] == ["in"]

    def test_a_config_can_be_corrected(self, tmp_path: Path) -> None:
        done = run("convert", FOLDER / "bert", tmp_path / "out", "--activation", "relu", "--heads", "8")
        assert done.returncode == 0, done.stderr
        options = json.loads((tmp_path / "out" / "config.json").read_text())
        assert (options["hidden_act"], options["num_attention_heads"]) == ("relu", 8)

    def test_errors(self, tmp_path: Path, saved: Path) -> None:
        fails("convert", tmp_path / "none", tmp_path / "out", says="no such file")
        fails("convert", FOLDER / "xlnet_memory", tmp_path / "out", says="XLNet")
        fails("convert", FOLDER / "bert", saved, says="overwrite")
        fails("convert", FOLDER / "bert", tmp_path / "out", "--heads", "5", says="not a multiple")
        fails("convert", saved, tmp_path / "out", "--heads", "2", says="nothing to correct")
        assert list(tmp_path.iterdir()) == []


class TestFillAndEmbed:
    def test_fill(self, saved: Path) -> None:
        done = run("fill", saved, "the [MASK] sat .", "--top", "3")
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("the [MASK] sat .\n  1: ")

    def test_fill_reads_standard_input(self, saved: Path) -> None:
        done = run("fill", saved, "--json", stdin="the [MASK] .\n\n[MASK] on [MASK]\n")
        first, second = map(json.loads, done.stdout.splitlines())
        assert len(first["masks"]) == 1
        assert len(second["masks"]) == 2

    def test_embed(self, saved: Path, tmp_path: Path) -> None:
        (tmp_path / "texts.txt").write_text("the cat\nthe mat\n")
        done = run("embed", saved, tmp_path / "texts.txt", "--out", tmp_path / "v.npy", "--json")
        assert done.returncode == 0, done.stderr
        rows = [json.loads(line)["vector"] for line in done.stdout.splitlines()]
        assert np.allclose(np.load(tmp_path / "v.npy"), rows, atol=1e-6)

    def test_what_is_cut_is_said(self, saved: Path, tmp_path: Path) -> None:
        done = run("embed", saved, "--out", tmp_path / "v.npy", stdin="the " * 100 + "\n")
        assert "warning: 1 of 1 texts were cut at 40 tokens" in done.stderr

    def test_a_line_is_a_line_from_file_and_pipe(self, saved: Path, tmp_path: Path) -> None:
        """Empty lines keep their place, and only line feeds end a line."""
        text = "the cat\n\nthe\u2028mat\x0c sat\n"
        (tmp_path / "texts.txt").write_text(text)
        outputs = [tmp_path / "file.npy", tmp_path / "pipe.npy"]
        assert run("embed", saved, tmp_path / "texts.txt", "--out", outputs[0]).returncode == 0
        assert run("embed", saved, "--out", outputs[1], stdin=text).returncode == 0
        found = [np.load(path) for path in outputs]
        assert found[0].shape == (3, 48)
        assert np.array_equal(*found)

    def test_lines_after_a_bad_one_are_still_filled(self, saved: Path) -> None:
        done = run("fill", saved, "--json", stdin="the [MASK] .\nno mask\n[MASK] on\n")
        assert done.returncode == 2
        assert len(done.stdout.splitlines()) == 2
        assert "error: line 2: nothing to fill in" in done.stderr

    def test_a_text_of_another_world_is_said(self, saved: Path) -> None:
        done = run("fill", saved, "utterly different [MASK]")
        assert "2 of 3 tokens are unknown" in done.stderr

    def test_errors(self, saved: Path, tmp_path: Path) -> None:
        fails("embed", saved, "--out", tmp_path / "v.npy", "--batch-size", "-1", says="at least 1", stdin="the\n")
        fails("embed", saved, "--out", tmp_path / "no" / "v.npy", says="could be written", stdin="the\n")
        fails("embed", saved, "--out", tmp_path / "v.npy", says="holds no text")
        fails("fill", saved, "the [MASK]", "--top", "-1", says="at least one")
        fails("fill", saved, "the cat", says="[MASK]")
        fails("fill", FOLDER / "bert", "a [MASK]", says="without a tokenizer")
        fails("fill", "no-such-model", "a [MASK]", says="hub")
        fails("embed", saved, says="--out")
        fails("embed", saved, tmp_path / "none.txt", "--json", says="none.txt")


class TestDoctor:
    def test_a_sound_folder(self, saved: Path) -> None:
        done = run("doctor", saved, "--json")
        assert done.returncode == 0, done.stdout
        found = {finding["what"]: finding for finding in json.loads(done.stdout)}
        assert found["checkpoint"]["state"] == found["tokenizer"]["state"] == "ok"
        assert found["export"]["says"] == "stock bert"

    def test_a_damaged_folder(self, tmp_path: Path) -> None:
        model = random_model({})
        model.embeddings.word.weight.data[3, 3] = float("nan")
        Encoder(model, None).save_pretrained(tmp_path / "nan")
        done = run("doctor", tmp_path / "nan")
        assert done.returncode == 1
        assert "✗ numbers" in done.stdout
        (tmp_path / "nan" / "model.safetensors").write_bytes(b"x")
        assert "✗ checkpoint" in run("doctor", tmp_path / "nan").stdout


def test_unknown_words_get_a_suggestion() -> None:
    fails("convrt", says="convert")
    fails("plan", "--bach", "3", says="--batch")


def test_debug_shows_the_traceback() -> None:
    done = run("--debug", "plan", "nothing")
    assert done.returncode != 0
    assert "Traceback" in done.stderr
