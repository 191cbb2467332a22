"""What we publish: whole or not at all, verified to the bit, and safe to read from strangers."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

from albertine.errors import AlbertineError
from albertine.interchange.checkpoint import build, snapshot
from albertine.interchange.folder import write_folder
from albertine.interchange.publish import published
from albertine.interchange.recognise import read_checkpoint
from albertine.interchange.safetensors_file import read_safetensors, write_safetensors
from albertine.interchange.tensors import given as lazy
from tests.support.models import BRIGHTMART, random_model


def export(folder: Path, options: dict | None = None) -> Path:
    write_folder(snapshot(random_model(BRIGHTMART if options is None else options), Path("memory")), folder)
    return folder


def forge(folder: Path, **changes: object) -> None:
    """Change the manifest as somebody would who knows how its digest is made."""
    file = folder / "albertine.json"
    manifest = {**json.loads(file.read_text()), **changes}
    manifest.pop("sha256")
    digest = hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps({**manifest, "sha256": digest}))


class TestPublishing:
    def test_nothing_appears_when_writing_fails(self, tmp_path: Path) -> None:
        with pytest.raises(RuntimeError), published(tmp_path / "out") as work:
            (work / "half").write_text("x")
            raise RuntimeError
        assert list(tmp_path.iterdir()) == []

    def test_what_was_there_stays_when_writing_fails(self, tmp_path: Path) -> None:
        export(tmp_path / "out")
        before = (tmp_path / "out" / "model.safetensors").read_bytes()
        with pytest.raises(RuntimeError), published(tmp_path / "out", overwrite=True):
            raise RuntimeError
        assert (tmp_path / "out" / "model.safetensors").read_bytes() == before

    def test_a_target_that_exists_is_refused_and_replaced_on_request(self, tmp_path: Path) -> None:
        export(tmp_path / "out")
        with pytest.raises(AlbertineError, match="exists already"):
            export(tmp_path / "out")
        write_folder(snapshot(random_model({}), Path("m")), tmp_path / "out", overwrite=True)
        assert str(read_checkpoint(tmp_path / "out").config.projection) == "affine"
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    def test_only_our_own_directories_are_ever_replaced(self, tmp_path: Path, monkeypatch) -> None:
        (tmp_path / "thesis").mkdir()
        (tmp_path / "thesis" / "chapter.tex").write_text("my only copy")
        (tmp_path / "notes.txt").write_text("mine")
        source = snapshot(random_model({}), Path("m"))
        for name in ("thesis", "notes.txt"):
            with pytest.raises(AlbertineError, match="not ours"):
                write_folder(source, tmp_path / name, overwrite=True)
        export(tmp_path / "ours")
        monkeypatch.chdir(tmp_path / "ours")
        with pytest.raises(AlbertineError, match="working directory"):
            write_folder(source, tmp_path / "ours", overwrite=True)
        assert (tmp_path / "thesis" / "chapter.tex").read_text() == "my only copy"
        assert (tmp_path / "notes.txt").read_text() == "mine"

    def test_a_killed_writer_leaves_no_target(self, tmp_path: Path) -> None:
        """SIGKILL at 40 moments of a conversion: the target is absent or whole."""
        script = (
            "import sys, torch; from pathlib import Path; from tests.support.models import random_model;"
            "from albertine.interchange.checkpoint import snapshot;"
            "from albertine.interchange.folder import write_folder;"
            "wide = {'hidden_size': 256, 'num_layers': 8, 'sharing': 'none', 'vocab_size': 20000};"
            "c = snapshot(random_model(wide), Path('m'));"
            "print('ready', flush=True); write_folder(c, Path(sys.argv[1])); print('done', flush=True)"
        )
        whole = begun = 0
        for attempt in range(40):
            target = tmp_path / f"out{attempt}"
            process = subprocess.Popen([sys.executable, "-c", script, str(target)], stdout=subprocess.PIPE, text=True)
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(0.004 * attempt)
            process.send_signal(signal.SIGKILL)
            process.wait()
            if target.exists():
                build(read_checkpoint(target))
                whole += 1
            begun += any(".partial" in path.name for path in tmp_path.iterdir())
        assert begun > 0  # some were killed in the middle of writing
        assert whole < 40


class TestVerification:
    def test_every_flipped_bit_is_found(self, tmp_path: Path) -> None:
        folder = export(tmp_path / "out")
        torch.manual_seed(0)
        files = [path for path in sorted(folder.iterdir()) if path.name != "albertine.json"]
        assert {path.name for path in files} == {"config.json", "model.safetensors", "albertine.safetensors"}
        for file in files:
            raw = bytearray(file.read_bytes())
            for at in torch.randint(0, len(raw), (30,)).tolist():
                raw[at] ^= 1 << at % 8
                file.write_bytes(raw)
                with pytest.raises(AlbertineError, match=f"{file.name}: its SHA-256"):
                    read_checkpoint(folder)
                raw[at] ^= 1 << at % 8
            file.write_bytes(raw)
        read_checkpoint(folder)

    def test_every_flipped_bit_of_the_manifest_is_found(self, tmp_path: Path) -> None:
        folder = export(tmp_path / "out")
        file = folder / "albertine.json"
        raw = bytearray(file.read_bytes())
        original = read_checkpoint(folder).config
        for at in range(len(raw)):
            raw[at] ^= 1 << at % 7
            file.write_bytes(raw)
            try:  # white space may change: then nothing that it says has
                assert read_checkpoint(folder).config == original
                assert raw.decode().split() == file.read_text().split()
            except AlbertineError as error:
                assert "albertine.json" in str(error)
            raw[at] ^= 1 << at % 7

    def test_files_that_are_not_listed_are_not_read(self, tmp_path: Path) -> None:
        folder = export(tmp_path / "out")
        before = build(read_checkpoint(folder)).state_dict()
        other = export(tmp_path / "other") / "model.safetensors"
        (folder / "evil.safetensors").write_bytes(other.read_bytes())
        names = dict.fromkeys(load_file(other), "evil.safetensors")
        (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
        after = build(read_checkpoint(folder)).state_dict()
        assert all(torch.equal(before[name], after[name]) for name in before)
        forge(folder, files={})
        with pytest.raises(AlbertineError, match="does not list"):
            read_checkpoint(folder)

    def test_links_to_a_cache_are_followed(self, tmp_path: Path) -> None:
        """As the hub's cache keeps a snapshot: every file a link to a blob elsewhere."""
        folder = export(tmp_path / "out")
        for sub in ("blobs", "snapshot"):
            (tmp_path / sub).mkdir()
        for number, file in enumerate(sorted(folder.iterdir())):
            (tmp_path / "blobs" / str(number)).write_bytes(file.read_bytes())
            (tmp_path / "snapshot" / file.name).symlink_to(Path("..") / "blobs" / str(number))
        build(read_checkpoint(tmp_path / "snapshot"))

    def test_truncated_and_missing_files(self, tmp_path: Path) -> None:
        folder = export(tmp_path / "out")
        file = folder / "model.safetensors"
        raw = file.read_bytes()
        file.write_bytes(raw[:-1])
        with pytest.raises(AlbertineError, match="model.safetensors.*truncated"):
            read_checkpoint(folder)
        file.unlink()
        with pytest.raises(AlbertineError, match="model.safetensors: missing"):
            read_checkpoint(folder)

    @pytest.mark.parametrize(
        "name", ["../secret", "/etc/passwd", "a/../../b", "1_Pooling/../../x", "..", "a\0b", "x" * 5000]
    )
    def test_names_that_climb_out_are_refused(self, name: str, tmp_path: Path) -> None:
        folder = export(tmp_path / "out")
        files = json.loads((folder / "albertine.json").read_text())["files"]
        forge(folder, files={**files, name: {"bytes": 1, "sha256": "0"}})
        with pytest.raises(AlbertineError, match="leads out of the directory"):
            read_checkpoint(folder)

    def test_a_newer_schema_is_refused_clearly(self, tmp_path: Path) -> None:
        folder = export(tmp_path / "out")
        forge(folder, schema=2)
        with pytest.raises(AlbertineError, match="schema 2.*Upgrade"):
            read_checkpoint(folder)


class TestStockDirectoriesFromStrangers:
    @pytest.fixture
    def stock(self, tmp_path: Path) -> Path:
        folder = export(tmp_path / "out", {})
        (folder / "albertine.json").unlink()
        return folder

    def test_shard_names_that_climb_out(self, stock: Path) -> None:
        (stock / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"x": "../../etc/passwd"}}))
        with pytest.raises(AlbertineError, match="leads out of the directory"):
            read_checkpoint(stock)

    def test_a_missing_and_an_odd_tensor(self, stock: Path) -> None:
        tensors = load_file(stock / "model.safetensors")
        name = "albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.weight"
        ffn = tensors.pop(name)
        save_file(tensors, stock / "model.safetensors")
        with pytest.raises(AlbertineError, match=f"{name} is missing"):
            read_checkpoint(stock)
        save_file({**tensors, name: ffn[:-1].contiguous()}, stock / "model.safetensors")
        with pytest.raises(AlbertineError, match=f"{name}.*shape"):
            read_checkpoint(stock)
        save_file({**tensors, name: ffn.to(torch.int32)}, stock / "model.safetensors")
        with pytest.raises(AlbertineError, match=f"{name}.*real numbers"):
            read_checkpoint(stock)

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            ({"model_type": "gpt2"}, "model_type 'gpt2'"),
            ({"model_type": None}, "no checkpoint|model_type"),
            ({"hidden_act": "mish"}, "hidden_act"),
            ({"position_embedding_type": "relative_key"}, "position_embedding_type"),
            ({"pruned_heads": {"0": [1]}}, "pruned"),
            ({"is_decoder": True}, "encoders"),
            ({"num_hidden_groups": 9}, "groups"),
            ({"hidden_size": 50}, "multiple"),
            ({"vocab_size": 98}, "word_embeddings"),
            ({"max_position_embeddings": 0}, "max_position_embeddings"),
            ({"layer_norm_eps": "small"}, "layer_norm_eps"),
        ],
    )
    def test_configs_that_contradict(self, stock: Path, change: dict, says: str) -> None:
        options = json.loads((stock / "config.json").read_text())
        (stock / "config.json").write_text(json.dumps(options | change))
        with pytest.raises(AlbertineError, match=says):
            read_checkpoint(stock)

    @pytest.mark.parametrize("text", ["", "[]", "{", '{"a":' * 100_000, "\x00", '"x"'])
    def test_json_that_is_none(self, stock: Path, text: str) -> None:
        (stock / "config.json").write_text(text)
        with pytest.raises(AlbertineError, match=r"config\.json"):
            read_checkpoint(stock)

    def test_remote_code_is_never_run(self, stock: Path) -> None:
        options = json.loads((stock / "config.json").read_text())
        options["auto_map"] = {"AutoModel": "evil.Model"}
        (stock / "config.json").write_text(json.dumps(options))
        (stock / "evil.py").write_text(f"open({str(stock / 'ran')!r}, 'w')")
        (stock / "modules.json").write_text('[{"idx": 0, "name": "0", "path": "", "type": "evil.Transformer"}]')
        read_checkpoint(stock)
        assert not (stock / "ran").exists()


def test_safetensors_are_what_the_library_reads(tmp_path: Path) -> None:
    tensors = {
        "a": torch.randn(3, 5),
        "b": torch.arange(7, dtype=torch.int64),
        "c": torch.randn(4, 4).bfloat16().T,
        "empty": torch.zeros(0, 3),
        "scalar": torch.tensor(2.0),
        "数": torch.ones(2, dtype=torch.float16),
    }
    write_safetensors(tmp_path / "x.safetensors", {name: lazy(tensor, name) for name, tensor in tensors.items()})
    theirs, ours = load_file(tmp_path / "x.safetensors"), read_safetensors(tmp_path / "x.safetensors")
    assert theirs.keys() == ours.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert torch.equal(theirs[name], tensor)
        assert torch.equal(ours[name].read(), tensor)


def test_an_absurd_header_is_refused_at_once(tmp_path: Path) -> None:
    file = tmp_path / "x.safetensors"
    file.write_bytes((10**12).to_bytes(8, "little") + b"{}")
    start = time.perf_counter()
    with pytest.raises(AlbertineError, match=r"x\.safetensors"):
        read_safetensors(file)
    assert time.perf_counter() - start < 1


@settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck))
@given(damage=st.data())
def test_damaged_safetensors_never_surprise(damage: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Headers cut, flipped and overwritten: a readable error, or a checkpoint of the right shapes."""
    folder = tmp_path_factory.getbasetemp() / "stock"
    if not folder.exists():
        export(folder, {"num_layers": 1})
        (folder / "albertine.json").unlink()
        (folder / "whole").write_bytes((folder / "model.safetensors").read_bytes())
    raw = bytearray((folder / "whole").read_bytes())
    header = 8 + int.from_bytes(raw[:8], "little")
    if damage.draw(st.booleans()):
        raw = raw[: damage.draw(st.integers(0, len(raw) - 1))]
    else:
        start = damage.draw(st.integers(0, header - 1))
        chunk = damage.draw(st.binary(min_size=1, max_size=30))
        raw[start : start + len(chunk)] = chunk
    (folder / "model.safetensors").write_bytes(raw)
    try:
        build(read_checkpoint(folder))
    except AlbertineError as error:
        assert str(folder) in str(error) or "model.safetensors" in str(error)
        assert "\n" not in str(error)


def test_published_folders_are_readable_by_others(tmp_path: Path) -> None:
    export(tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o777 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
