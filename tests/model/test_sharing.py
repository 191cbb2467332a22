"""Sharing plans: which blocks are applied, how many are owned, and what depth costs nothing."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from albertine.errors import AlbertineError
from albertine.model.model import Model
from albertine.model.shapes import count, shapes
from albertine.presets import PRESETS, names, preset
from albertine.sharing import Sharing, explicit
from tests.support.models import BASE, random_model, tokens

PLANS = ["all", "attention", "ffn", "none", "groups(2,1)", "groups(2,2)", "explicit(0:0 1:0 0:1 1:1)"]


@pytest.mark.parametrize(
    ("plan", "layers", "stored"),
    [
        ("all", [(0, 0)] * 4, (1, 1)),
        ("attention", [(0, 0), (0, 1), (0, 2), (0, 3)], (1, 4)),
        ("ffn", [(0, 0), (1, 0), (2, 0), (3, 0)], (4, 1)),
        ("none", [(0, 0), (1, 1), (2, 2), (3, 3)], (4, 4)),
        ("groups(2,1)", [(0, 0), (0, 0), (1, 1), (1, 1)], (2, 2)),
        ("groups(2,2)", [(b, b) for b in (0, 1, 0, 1, 2, 3, 2, 3)], (4, 4)),
        ("explicit(0:0 1:0 0:1 1:1)", [(0, 0), (1, 0), (0, 1), (1, 1)], (2, 2)),
    ],
)
def test_plans(plan: str, layers: list[tuple[int, int]], stored: tuple[int, int]) -> None:
    sharing = Sharing.parse(plan)
    assert list(sharing.plan(4)) == layers
    assert sharing.stored(4) == stored
    assert str(Sharing.parse(str(sharing))) == str(sharing)


@pytest.mark.parametrize("plan", PLANS)
def test_the_module_owns_the_tensors_that_the_list_says(plan: str) -> None:
    config = BASE.with_(sharing=plan)
    model = Model(config)
    assert {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()} == shapes(config)
    assert sum(parameter.numel() for parameter in model.parameters()) == count(config)


@pytest.mark.parametrize("name", names())
def test_every_preset_is_the_module_that_it_describes(name: str) -> None:
    with torch.device("meta"):
        model = Model(preset(name))
    assert {key: tuple(tensor.shape) for key, tensor in model.state_dict().items()} == shapes(preset(name))


@pytest.mark.parametrize("plan", PLANS)
def test_every_application_uses_the_blocks_of_its_plan(plan: str) -> None:
    """A shared encoder computes what an unshared one with copies of its blocks computes."""
    model = random_model({"sharing": plan})
    layers = model.plan()
    unrolled = random_model({"sharing": "none", "num_layers": len(layers)})
    state = {k: v for k, v in model.state_dict().items() if not k.startswith(("attention.", "ffn."))}
    for layer, (attention, ffn) in enumerate(layers):
        state |= {f"attention.{layer}.{k}": v for k, v in model.attention[attention].state_dict().items()}
        state |= {f"ffn.{layer}.{k}": v for k, v in model.ffn[ffn].state_dict().items()}
    unrolled.load_state_dict(state)
    ids, mask, segments = tokens({})
    with torch.inference_mode():
        a, b = (m(ids, mask, segments, keep_layers=True) for m in (model, unrolled))
    assert all(torch.equal(x, y) for x, y in zip(a.layers, b.layers, strict=True))


class TestDepth:
    def test_a_shared_model_runs_at_any_depth_without_new_weights(self) -> None:
        model = random_model({})
        ids, mask, segments = tokens({})
        with torch.inference_mode():
            deep = model(ids, mask, segments, depth=9, keep_layers=True)
            assert len(deep.layers) == 9
            for depth in (1, 4, 7):
                assert torch.equal(model(ids, mask, segments, depth=depth).states_BTH, deep.layers[depth - 1])

    @pytest.mark.parametrize("plan", ["attention", "ffn", "none"])
    def test_an_unshared_model_runs_shallower_but_not_deeper(self, plan: str) -> None:
        model = random_model({"sharing": plan})
        ids, mask, segments = tokens({})
        with torch.inference_mode():
            full = model(ids, mask, segments, keep_layers=True)
            assert torch.equal(model(ids, mask, segments, depth=2).states_BTH, full.layers[1])
        with pytest.raises(AlbertineError, match="does not own"):
            model(ids, mask, segments, depth=5)

    def test_groups_spread_over_the_depth(self) -> None:
        model = random_model({"sharing": "groups(2,1)"})
        assert [a for a, _ in model.plan(6)] == [0, 0, 0, 1, 1, 1]
        with pytest.raises(AlbertineError, match="less than the 2 groups"):
            model.plan(1)

    def test_no_depth_at_all(self) -> None:
        with pytest.raises(AlbertineError, match="at least one"):
            random_model({}).plan(0)


@settings(max_examples=300, deadline=None)
@given(layers=st.integers(1, 48), groups=st.integers(1, 48), inner=st.integers(1, 3))
def test_groups_never_go_back_and_never_leave_what_is_owned(layers: int, groups: int, inner: int) -> None:
    if groups > layers:
        return
    sharing = Sharing("groups", groups, inner)
    plan = sharing.plan(layers)
    owned = sharing.stored(layers)[0]
    assert len(plan) == layers * inner
    assert plan[0] == (0, 0)
    group_of = [block // inner for block, _ in plan]
    assert group_of == sorted(group_of)
    assert max(block for block, _ in plan) < owned


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=12))
def test_explicit_plans_survive_being_written_down(layers: list[tuple[int, int]]) -> None:
    sharing = explicit(tuple(layers))
    assert Sharing.parse(str(sharing)).plan(len(layers)) == tuple(layers)


@pytest.mark.parametrize("text", ["", "al", "groups", "groups(0)", "groups(2,0)", "explicit()", "ALL"])
def test_plans_that_are_none(text: str) -> None:
    with pytest.raises(AlbertineError):
        Sharing.parse(text)


def test_backbones_hold_exactly_what_was_published() -> None:
    heads = ("mlm.", "pair.")
    sizes = {"base": 11_683_584, "large": 17_683_968, "xlarge": 58_724_864, "xxlarge": 222_595_584}
    for size, wanted in sizes.items():
        for version in ("v1", "v2"):
            config = PRESETS[f"albert-{size}-{version}"]
            tensors = shapes(config).items()
            assert sum(torch.Size(shape).numel() for name, shape in tensors if not name.startswith(heads)) == wanted
    assert count(PRESETS["albert-base-v2"]) == 11_813_810
    assert count(PRESETS["albert-xxlarge-v2"]) == 223_158_450


@pytest.mark.parametrize(
    ("name", "trap"),
    [
        ("albert-xlarge-v2", {"num_heads": 16}),
        ("albert_xlarge_zh", {"num_heads": 32, "norm": "pre"}),
        ("albert-base-zh", {"activation": "relu"}),
        ("albert-base-v1", {"hidden_dropout": 0.1, "activation": "gelu_tanh"}),
        ("albert-xxlarge-v1", {"hidden_dropout": 0.0}),
        ("albert-base-v2", {"hidden_dropout": 0.0, "activation": "gelu_tanh"}),
        ("roberta-base", {"activation": "gelu_erf", "first_position": 2, "norm_eps": 1e-5}),
        ("bert-base-uncased", {"activation": "gelu_tanh"}),
        ("albert_tiny_zh", {"embedding_space": "H", "projection": "linear"}),
    ],
)
def test_known_traps_are_set_as_published(name: str, trap: dict) -> None:
    assert {option: getattr(preset(name), option) for option in trap} == trap


def test_unknown_names_come_with_a_suggestion() -> None:
    with pytest.raises(AlbertineError, match="albert-base-v2"):
        preset("albert-base-v3")
    with pytest.raises(AlbertineError, match="Did you mean 'hidden_size'"):
        BASE.with_(hiden_size=3)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"hidden_size": 50}, "not a multiple"),
        ({"projection": "none"}, "needs embedding_size"),
        ({"pooler": False}, "needs pooler"),
        ({"num_layers": 0}, "positive"),
        ({"num_heads": True}, "positive"),
        ({"norm": "middle"}, "one of post, pre"),
        ({"hidden_dropout": 1.0}, r"\[0, 1\)"),
        ({"sharing": "groups(9)"}, "less than"),
        ({"embedding_norm": "yes"}, "true or false"),
    ],
)
def test_options_that_make_no_encoder(change: dict, says: str) -> None:
    with pytest.raises(AlbertineError, match=says):
        BASE.with_(**change)


def test_initialisation_is_the_published_one() -> None:
    torch.manual_seed(0)
    model = Model(BASE.with_(vocab_size=5000, initializer_range=0.02))
    table = model.embeddings.word.weight.detach()
    assert float(table.abs().max()) <= 0.04
    assert float(table.std()) == pytest.approx(0.02 * 0.8796, rel=0.02)  # a normal cut at two deviations
    assert float(model.attention[0].qkv.bias.detach().abs().max()) == 0
    assert bool((model.embeddings.norm.weight == 1).all())
