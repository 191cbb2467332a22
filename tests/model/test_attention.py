"""Every way to compute attention gives the definition; nobody sees what they may not see."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel

from albertine.model.affine import affine
from albertine.model.attention import KeyValues, Way, attend
from albertine.model.visibility import Visibility
from tests.support.models import BERT, BRIGHTMART, PRE, ROBERTA, random_model, tokens

# way and precision → largest difference from the definition in float64
TOLERANCES = {torch.float64: 1e-12, torch.float32: 2e-6, torch.bfloat16: 3e-2}
KINDS = {"albert": {}, "bert": BERT, "brightmart": BRIGHTMART, "pre-LN": {**BRIGHTMART, **PRE}, "roberta": ROBERTA}


def random_parts(queries: int = 7, keys: int = 9, dtype: torch.dtype = torch.float64):
    torch.manual_seed(0)
    q = torch.randn(3, 2, queries, 8, dtype=torch.float64)
    k, v = torch.randn(2, 3, 2, keys, 8, dtype=torch.float64)
    return q.to(dtype), KeyValues(k.to(dtype), v.to(dtype))


def definition(q: torch.Tensor, seen: KeyValues, allowed: torch.Tensor, terms: torch.Tensor | None) -> torch.Tensor:
    """One query at a time, over the keys it may see, in float64."""
    out = torch.zeros_like(q, dtype=torch.float64)
    for b, a, i in torch.cartesian_prod(*(torch.arange(size) for size in q.shape[:3])).tolist():
        keys = allowed[b].nonzero().squeeze(1)
        if len(keys) == 0:
            continue
        scores = seen.keys_BAKD[b, a, keys].double() @ q[b, a, i].double() / q.shape[-1] ** 0.5
        if terms is not None:
            scores = scores + terms[b, a, i, keys].double()
        out[b, a, i] = scores.softmax(0) @ seen.values_BAKD[b, a, keys].double()
    return out


@pytest.mark.parametrize("dtype", TOLERANCES, ids=str)
@pytest.mark.parametrize("way", ["plain", "fused"])
@pytest.mark.parametrize("with_terms", [False, True], ids=["", "terms"])
def test_every_way_gives_the_definition(way: Way, dtype: torch.dtype, with_terms: bool) -> None:
    """Unequal numbers of queries and keys, a row with padding, a row that sees nobody."""
    q, seen = random_parts(dtype=dtype)
    real = torch.ones(3, 9, dtype=torch.bool)
    real[1, 4:], real[2] = False, False
    terms = torch.randn(3, 2, 7, 9).to(dtype) if with_terms else None
    found = attend(q, seen, Visibility(3, 9, real), terms, way=way).double()
    assert float((found - definition(q, seen, real, terms)).abs().max()) <= TOLERANCES[dtype]


@pytest.mark.parametrize("backend", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION], ids=str)
def test_every_kernel_behind_fused(backend: SDPBackend) -> None:
    q, seen = random_parts(dtype=torch.float32)
    real = torch.ones(3, 9, dtype=torch.bool)
    real[1, 4:] = False
    with sdpa_kernel(backend):
        found = attend(q, seen, Visibility(3, 9, real), way="fused").double()
    assert float((found - definition(q, seen, real, None)).abs().max()) <= TOLERANCES[torch.float32]


@pytest.mark.parametrize("way", ["plain", "fused"])
def test_a_cache_is_the_same_as_seeing_all_at_once(way: Way) -> None:
    q, seen = random_parts(queries=9)
    everything = attend(q, seen, Visibility(3, 9), way=way)
    cache = KeyValues(seen.keys_BAKD[:, :, :5], seen.values_BAKD[:, :, :5])
    later = KeyValues(seen.keys_BAKD[:, :, 5:], seen.values_BAKD[:, :, 5:])
    found = attend(q[:, :, 5:], later, Visibility(3, 9), cache=cache, way=way)
    assert float((found - everything[:, :, 5:]).abs().max()) <= 1e-12
    assert cache.keys_BAKD.shape[2] == 9


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["plain", "fused"])
@pytest.mark.parametrize("pack", [False, True], ids=["padded", "packed"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_what_stands_in_the_padding_changes_no_bit(kind: str, way: Way, pack: bool, side: str) -> None:
    """Leakage: at a fixed shape, other tokens and segments in the padding, the same output to the bit."""
    options = KINDS[kind]
    model = random_model(options)
    model.way = way
    ids, mask, segments = (x.flip(1) if side == "left" else x for x in tokens(options))
    real = mask.bool()
    with torch.inference_mode():
        first = model(ids, mask, segments, pack=pack).states_BTH[real]
        for seed in range(5):
            torch.manual_seed(seed)
            noise = torch.randint(0, 97, ids.shape)
            types = torch.randint(0, max(model.config.num_types, 1), ids.shape)
            other = torch.where(real, ids, noise), mask, torch.where(real, segments, types)
            assert torch.equal(model(*other, pack=pack).states_BTH[real], first)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pack", [False, True], ids=["padded", "packed"])
def test_how_much_padding_there_is_hardly_matters(kind: str, pack: bool) -> None:
    options = KINDS[kind]
    model = random_model(options)
    ids, mask, segments = tokens(options, length=24)
    short = slice(0, 12)
    with torch.inference_mode():
        alone = model(ids[1:, short], mask[1:, short], segments[1:, short], pack=pack).states_BTH
        padded = model(ids, mask, segments, pack=pack).states_BTH[1:, short]
    assert float((alone - padded).abs().max()) <= 5e-6


def test_another_sequence_of_the_batch_changes_no_bit() -> None:
    model = random_model({})
    ids, mask, segments = tokens({})
    with torch.inference_mode():
        first = model(ids, mask, segments, pack=False).states_BTH[0]
        ids[1] = ids[1].flip(0)
        assert torch.equal(model(ids, mask, segments, pack=False).states_BTH[0], first)


@settings(max_examples=60, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=4),
    kind=st.sampled_from(sorted(KINDS)),
    left=st.booleans(),
)
def test_packed_and_padded_agree_for_any_lengths(lengths: list[int], kind: str, left: bool) -> None:
    """Empty sequences and left padding included."""
    model = random_model(KINDS[kind])
    torch.manual_seed(1)
    ids = torch.randint(3, 97, (len(lengths), 12))
    places = torch.arange(12).expand(len(lengths), 12)
    real = places < torch.tensor(lengths)[:, None]
    real = real.flip(1) if left else real
    ids[~real] = model.config.pad_id
    with torch.inference_mode():
        packed = model(ids, real, pack=True).states_BTH
        padded = model(ids, real, pack=False).states_BTH
    assert bool(packed.isfinite().all())
    assert bool(padded.isfinite().all())
    gap = (packed - padded)[real].abs()
    assert not gap.numel() or float(gap.max()) <= 5e-6


@pytest.mark.parametrize("rows", [1, 7, 8, 100, 256, 257])
def test_either_way_round_is_the_same_map(rows: int) -> None:
    """Few rows are multiplied the other way round on the CPU; gradients never are."""
    torch.manual_seed(0)
    linear = torch.nn.Linear(48, 96)
    x = torch.randn(rows, 48)
    wanted = x.double() @ linear.weight.double().T + linear.bias.double()
    with torch.inference_mode():
        found = affine(linear, x)
    assert found.shape == wanted.shape
    assert float((found - wanted).detach().abs().max()) <= 2e-6
    assert torch.equal(affine(linear, x), linear(x))
