"""Operations against torch's own counter, on the real model."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from albertine.config import EncoderConfig
from albertine.model.model import Model
from albertine.plan import flops
from albertine.presets import preset

BATCH, LENGTH = 4, 40
ASKED = BATCH * LENGTH * 15 // 100

CONFIGS = {
    "albert": preset("albert_tiny_zh_google"),
    "brightmart": preset("albert_tiny_zh"),
    "bert": preset("bert-tiny"),
    "roberta": preset("roberta-base").with_(num_layers=2, vocab_size=500),
    "untied": preset("bert-tiny").with_(mlm_tied=False),
    "groups": preset("albert_tiny_zh_google").with_(sharing="groups(2,2)"),
    "no heads": preset("bert-tiny").with_(mlm_head="none", pair_head=False),
}


def counted(config: EncoderConfig, *, backward: bool = False) -> int:
    """torch's count of one pass with its heads; attention is spelled out, as the counter wants it."""
    with torch.device("meta"):
        model, ids_BT = Model(config), torch.zeros(BATCH, LENGTH, dtype=torch.long)
        asked_M = torch.zeros(ASKED, dtype=torch.long)
    model.way = "plain"
    with FlopCounterMode(display=False) as counter:
        states_BTH = model(ids_BT).states_BTH
        outputs = [states_BTH.sum()]
        if model.mlm is not None:
            outputs.append(model.masked_words(states_BTH, asked_M).sum())
        if model.pair is not None:
            outputs.append(model.pairs(states_BTH).sum())
        if backward:
            torch.stack(outputs).sum().backward()
    return counter.get_total_flops()


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_forward_is_exactly_what_torch_counts(config: EncoderConfig) -> None:
    ours = flops.count(config, LENGTH, asked_share=ASKED / (BATCH * LENGTH)).forward * BATCH * LENGTH
    assert ours == pytest.approx(counted(config), rel=1e-12)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_forward_and_backward_are_exactly_what_torch_counts(config: EncoderConfig) -> None:
    ours = flops.count(config, LENGTH, asked_share=ASKED / (BATCH * LENGTH)).training() * BATCH * LENGTH
    assert ours == pytest.approx(counted(config, backward=True), rel=1e-12)


def test_checkpointing_computes_the_layers_once_more() -> None:
    work = flops.count(preset("albert-base-v2"), 512)
    assert work.training(checkpointing=True) - work.training() == work.layers


@settings(max_examples=30)
@given(st.sampled_from(("all", "attention", "ffn", "none", "groups(3)", "groups(12)")), st.integers(1, 512))
def test_sharing_saves_no_operations(sharing: str, length: int) -> None:
    config = preset("albert-base-v2")
    assert flops.count(config.with_(sharing=sharing), length) == flops.count(config, length)


@given(st.integers(1, 511))
def test_only_attention_scores_and_the_pooler_depend_on_the_length(length: int) -> None:
    short, long = (flops.count(preset("albert-base-v2"), size) for size in (length, length + 1))
    assert long.attention_scores > short.attention_scores
    assert (long.attention_maps, long.ffn, long.mlm_head) == (short.attention_maps, short.ffn, short.mlm_head)
