"""Every layer, head and loss against the authors' own TensorFlow graphs."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from albertine.model.attention import Way
from tests.support.golden import ENCODERS, Golden, golden

TOLERANCE = 1e-5  # largest absolute difference, float32
COMPILED_TOLERANCE = 2e-5  # fused kernels sum in another order


@pytest.fixture(scope="module", params=ENCODERS)
def fixture(request: pytest.FixtureRequest) -> Golden:
    return golden(request.param)


def worst(left: torch.Tensor, right: torch.Tensor) -> float:
    assert left.shape == right.shape
    return float((left - right).abs().max())


@pytest.mark.parametrize("way", ["plain", "fused"])
@pytest.mark.parametrize("pack", [False, True], ids=["padded", "packed"])
def test_states_and_heads(fixture: Golden, way: Way, pack: bool) -> None:
    model, mask = fixture.model, fixture.ints("mask").bool()
    model.way = way
    # Packed rows compute nothing where padding stands; padded ones compute what the graph computes there.
    compared = mask if pack else torch.ones_like(mask)
    with torch.inference_mode():
        out = model(fixture.ints("ids"), mask, fixture.ints("seg"), keep_layers=True, pack=pack)
        assert len(out.layers) == len(fixture.layers)
        for ours, theirs in zip(out.layers, fixture.layers, strict=True):
            assert worst(ours[compared], theirs[compared]) <= TOLERANCE
        assert worst(out.states_BTH[compared], fixture.out("sequence")[compared]) <= TOLERANCE
        assert worst(model.pooled(out.states_BTH), fixture.out("pooled")) <= TOLERANCE
        words = model.masked_words(out.states_BTH, fixture.asked_M)
        assert worst(words, fixture.out("mlm_logits")) <= TOLERANCE
        assert worst(model.pairs(out.states_BTH), fixture.out(f"{fixture.pair}_logits")) <= TOLERANCE


def test_embedding_output(fixture: Golden) -> None:
    with torch.inference_mode():
        ours = fixture.model.embedding_output(fixture.ints("ids"), fixture.ints("seg"))
    assert worst(ours, fixture.out("embedding")) <= TOLERANCE


def test_losses(fixture: Golden) -> None:
    """The masked-word loss is weighted by target, with 1e-5 in the denominator; the pair loss is a mean."""
    model = fixture.model
    with torch.inference_mode():
        states = model(fixture.ints("ids"), fixture.ints("mask"), fixture.ints("seg")).states_BTH
        each = F.cross_entropy(
            model.masked_words(states, fixture.asked_M), fixture.ints("lab").flatten(), reduction="none"
        )
        weights = (
            torch.from_numpy(fixture.arrays["in/w"]).flatten() if "in/w" in fixture.arrays else torch.ones(len(each))
        )
        words = (each * weights).sum() / (weights.sum() + 1e-5)
        pairs = F.cross_entropy(model.pairs(states), fixture.ints("so"))
    assert abs(float(words) - float(fixture.arrays["out/mlm_loss"])) <= TOLERANCE
    assert abs(float(pairs) - float(fixture.arrays[f"out/{fixture.pair}_loss"])) <= TOLERANCE


@pytest.mark.parametrize("name", ENCODERS)
def test_compiled_layer(name: str) -> None:
    compiled = golden(name)
    compiled.model.compile_layers()
    mask = compiled.ints("mask").bool()
    with torch.inference_mode():
        out = compiled.model(compiled.ints("ids"), mask, compiled.ints("seg"), keep_layers=True, pack=False)
    for ours, theirs in zip(out.layers, compiled.layers, strict=True):
        assert worst(ours, theirs) <= COMPILED_TOLERANCE


def test_gradient_norm(name: str = "albert_shared") -> None:
    """The global norm of the first gradient: backward through shared layers, as TensorFlow has it."""
    for name in ("albert_shared", "albert_groups"):
        fixture = golden(name)
        model = fixture.model.train()
        states = model(fixture.ints("ids"), fixture.ints("mask"), fixture.ints("seg")).states_BTH
        weights = torch.from_numpy(fixture.arrays["in/w"]).flatten()
        each = F.cross_entropy(
            model.masked_words(states, fixture.asked_M), fixture.ints("lab").flatten(), reduction="none"
        )
        words = (each * weights).sum() / (weights.sum() + 1e-5)
        (words + F.cross_entropy(model.pairs(states), fixture.ints("so"))).backward()
        norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
        assert float(norm) == pytest.approx(float(fixture.arrays["out/grad_norm"]), rel=1e-5)
