"""Exact counts, and what sharing does to them."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from albertine.config import EncoderConfig
from albertine.model.model import Model
from albertine.plan import parameters
from albertine.presets import names, preset
from albertine.sharing import Sharing

BACKBONES = {
    "albert-base-v2": 11_683_584,
    "albert-large-v2": 17_683_968,
    "albert-xlarge-v2": 58_724_864,
    "albert-xxlarge-v2": 222_595_584,
    "bert-base-uncased": 109_482_240,
    "bert-large-uncased": 335_141_888,
}


def small(**changes: object) -> EncoderConfig:
    return EncoderConfig(
        vocab_size=100, embedding_size=8, hidden_size=16, num_layers=12, num_heads=2, intermediate_size=32
    ).with_(**changes)


def test_published_backbones_have_their_exact_size() -> None:
    assert {name: parameters.count(preset(name)).backbone for name in BACKBONES} == BACKBONES


def test_parts_add_up_to_what_the_module_owns() -> None:
    for name in names():
        with torch.device("meta"):
            owned = sum(weight.numel() for weight in Model(preset(name)).parameters())
        assert parameters.count(preset(name)).with_heads == owned


def test_layer_norms_and_odd_heads_are_counted() -> None:
    config = small(final_norm=True, mlm_tied=False, norm="pre")
    assert parameters.count(config).with_heads == sum(w.numel() for w in Model(config).parameters())


@given(st.integers(1, 11), st.integers(1, 3))
def test_more_groups_never_have_fewer_parameters(groups: int, inner: int) -> None:
    fewer, more = (small(sharing=Sharing("groups", count, inner)) for count in (groups, groups + 1))
    assert parameters.count(fewer).blocks < parameters.count(more).blocks


@given(st.sampled_from(("all", "attention", "ffn")))
def test_any_sharing_lies_between_all_and_none(sharing: str) -> None:
    least, some, most = (parameters.count(small(sharing=plan)).backbone for plan in ("all", sharing, "none"))
    assert least <= some < most
