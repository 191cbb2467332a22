"""What a person and a program see of `albertine plan`."""

import io
import json
import subprocess
import sys
import time
from typing import Any

import pytest
from rich.console import Console

from albertine import plan
from albertine.config import EncoderConfig
from albertine.errors import AlbertineError
from albertine.presets import names, preset


def printed(*models: str, **options: Any) -> str:
    text = io.StringIO()
    plan.run(list(models), console=Console(file=text, width=100), **options)
    return text.getvalue().replace("\u00a0", " ")


def test_a_model_fits_one_screen_and_says_what_is_next() -> None:
    text = printed("albert-base-v2")
    assert "11 683 584" in text and "11 092 992" in text
    assert len(text.splitlines()) <= 40
    assert text.splitlines()[-1].startswith("Next: albertine plan")


def test_models_stand_side_by_side() -> None:
    text = printed("albert-base-v2", "bert-base-uncased", batch=128)
    backbone = next(line for line in text.splitlines() if "backbone" in line)
    assert "11 683 584" in backbone and "109 482 240" in backbone


def test_json_has_the_same_numbers() -> None:
    (found,) = json.loads(printed("albert-base-v2", as_json=True, batch=128, checkpointing=True))
    assert found["parameters"]["backbone"] == 11_683_584
    assert found["job"]["checkpointing"] is True
    assert found["training_bytes"]["peak"] == max(found["training_bytes"]["moments"].values())
    kept = found["activation_bytes"]
    assert kept["with_checkpointing"] < kept["without_checkpointing"]
    assert found["flops_per_token"]["backward"] == 2 * found["flops_per_token"]["forward"]


def test_checkpointing_adds_operations() -> None:
    (plain,), (again,) = (json.loads(printed("albert-base-v2", as_json=True, checkpointing=on)) for on in (False, True))
    assert again["flops_per_token"]["training"] > plain["flops_per_token"]["training"]


def test_the_papers_tables_show_their_numbers() -> None:
    text = printed(paper=True)
    for number in ("108M", "334M", "1270M", "235M", "222 595 584", "23 040 000", "3 938 304", "4.7×", "17 %"):
        assert number in text
    assert "discrepancy" in text


def test_the_papers_tables_as_json() -> None:
    found = json.loads(printed(paper=True, as_json=True))
    assert [len(found[f"table_{number}"]) for number in (1, 2, 3, 4)] == [7, 7, 8, 8]
    assert found["table_4"][0]["ours"] == 31_114_752


def test_all_presets_are_listed() -> None:
    lines = printed(list_presets=True)
    assert all(name in lines for name in names())


def test_another_resolver_finds_other_models() -> None:
    def folder(name: str) -> EncoderConfig:
        return preset("bert-tiny")

    assert "4 385 920" in printed("some/folder", resolve=folder)


@pytest.mark.parametrize(
    ("models", "options", "message"),
    [
        ([], {}, "plan which model"),
        (["albert-base"], {}, "Did you mean 'albert-base-"),
        (["albert-base-v2"], {"length": 4096}, "512 positions"),
    ],
)
def test_mistakes_are_one_line(models: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises(AlbertineError, match=message):
        plan.run(models, **options)


def test_planning_does_not_load_torch() -> None:
    code = "import sys, albertine.plan as plan; plan.run(['albert-base-v2']); sys.exit('torch' in sys.modules)"
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert time.perf_counter() - start < 5  # about 0.15 s on an idle machine
