"""The forecast against the real model, traced on tensors without contents.

The tracer stands in for a GPU: CUDA autocast computes LayerNorm and the loss in float32, the CPU's does
not, and CUDA's dropout keeps masks of one byte. `benchmarks/memory_forecast.py` puts CUDA's rules in place.
"""

from itertools import accumulate
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.profiler import ProfilerActivity, profile

import memory_forecast as tracing  # benchmarks/memory_forecast.py
from albertine.config import EncoderConfig
from albertine.errors import AlbertineError
from albertine.plan import activations, memory
from albertine.plan.job import Job
from albertine.presets import names, preset

SWISH = preset("albert_small_zh_google").with_(activation="swish", hidden_dropout=0.2)
HELD_BACK = {
    "groups": Job(config=preset("albert-base-v2").with_(sharing="groups(4,2)"), batch=24, length=200),
    "shared attention": Job(config=preset("albert-base-v2").with_(sharing="attention"), batch=40, length=333),
    "relu": Job(config=preset("albert-large-zh"), batch=20, length=256),
    "relu, float32": Job(config=preset("albert-large-zh"), batch=20, length=256, precision="float32"),
    "swish, dropout": Job(config=SWISH, batch=200, length=128),
    "brightmart": Job(config=preset("albert_base_zh"), batch=32, length=384),
    "brightmart, float32": Job(config=preset("albert_base_zh"), batch=32, length=384, precision="float32"),
    "pre-LN": Job(config=preset("albert-base-v2").with_(norm="pre", final_norm=True), batch=64, length=512),
    "pre-LN, checkpointed": Job(
        config=preset("albert-large-v2").with_(norm="pre", final_norm=True),
        batch=48,
        length=512,
        checkpointing=True,
    ),
    "pre-LN, no last norm": Job(config=preset("albert_xxlarge_zh"), batch=8, length=512),
    "untied": Job(config=preset("bert-medium").with_(mlm_tied=False), batch=96, length=250),
    "no pairs": Job(config=preset("roberta-large"), batch=24, length=512),
    "one long sequence": Job(config=preset("bert-large-cased"), batch=1, length=512),
    "multilingual": Job(config=preset("bert-base-multilingual-cased"), batch=64, length=128),
    "multilingual, checkpointed": Job(
        config=preset("bert-base-multilingual-cased"), batch=64, length=128, checkpointing=True
    ),
    "few asked": Job(config=preset("bert-base-cased"), batch=32, length=512, asked_share=0.01),
    "xxlarge, float32, checkpointed": Job(
        config=preset("albert-xxlarge-v1"), batch=4, length=512, precision="float32", checkpointing=True
    ),
}


@pytest.mark.parametrize("job", HELD_BACK.values(), ids=HELD_BACK)
def test_saved_activations_are_as_forecast(job: Job) -> None:
    assert tracing.forecast_saved(job) == pytest.approx(tracing.saved_bytes(job), rel=0.01)


@pytest.mark.parametrize("job", HELD_BACK.values(), ids=HELD_BACK)
def test_the_peak_of_a_step_is_as_forecast(job: Job) -> None:
    assert memory.training(job).peak == pytest.approx(tracing.traced_peak(job), rel=0.1)


@pytest.mark.parametrize("job", HELD_BACK.values(), ids=HELD_BACK)
def test_the_peak_of_encoding_is_as_forecast(job: Job) -> None:
    assert memory.inference(job).peak == pytest.approx(tracing.traced_encoding(job), rel=0.03)


REAL = {
    "tiny": Job(config=preset("bert-tiny"), batch=8, length=128),
    "mini, float32": Job(config=preset("bert-mini"), batch=4, length=96, precision="float32"),
    "shared": Job(config=preset("albert_tiny_zh_google"), batch=8, length=128),
    "shared, checkpointed": Job(
        config=preset("albert_tiny_zh_google"), batch=8, length=128, precision="float32", checkpointing=True
    ),
}


@pytest.mark.parametrize("job", REAL.values(), ids=REAL)
def test_a_real_step_allocates_what_is_forecast(job: Job) -> None:
    assert memory.training(job).peak == pytest.approx(_allocated(job), rel=0.05)


def _allocated(job: Job) -> int:
    """The peak of a real step on the CPU, by torch's own profiler, with Adam's state by its definition."""
    with tracing.CudaRules():
        model = tracing.Model(job.config).train()
        tracing.checkpoint_layers(model, job, tracing.CudaRules)
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
            loss, _named = tracing.forward(model, job, "cpu")
            loss.backward()
    assert watched.profiler is not None
    events = [each for each in watched.profiler.kineto_results.events() if each.name() == "[memory]"]
    changes = (each.nbytes() for each in sorted(events, key=lambda each: each.start_ns()))
    return max(accumulate(changes)) + 12 * sum(weight.numel() for weight in model.parameters())


@pytest.mark.parametrize("seed", range(8))
def test_models_drawn_at_random_are_as_forecast(seed: int) -> None:
    job = _drawn(Random(seed))
    assert tracing.forecast_saved(job) == pytest.approx(tracing.saved_bytes(job), rel=0.01)
    assert memory.training(job).peak == pytest.approx(tracing.traced_peak(job), rel=0.1)


def _drawn(random: Random) -> Job:
    config = preset(random.choice(names())).with_(
        norm=random.choice(("post", "pre")),
        sharing=random.choice(("all", "none", "attention", "ffn", "groups(2)")),
        activation=random.choice(("gelu_tanh", "gelu_erf", "relu", "swish")),
        hidden_dropout=random.choice((0.0, 0.1)),
        final_norm=random.choice((True, False)),
    )
    length = random.randint(16, 512)
    return Job(
        config=config,
        batch=max(1, random.choice((4_000, 20_000, 60_000)) // length),
        length=length,
        precision=random.choice(("float32", "bfloat16")),
        checkpointing=random.choice((True, False)),
        asked_share=random.choice((0.15, 0.05)),
    )


def test_a_tensor_is_found_by_its_name() -> None:
    job = Job(config=preset("albert-base-v2"), batch=2, length=8, precision="float32")
    sizes = {saved.what: saved.bytes for saved in activations.layer(job)}
    assert sizes["attention: queries, keys, values"] == 4 * 16 * 3 * 768
    assert sizes["feed-forward: input of the activation"] == 4 * 16 * 3072


@settings(max_examples=40)
@given(st.integers(1, 64), st.integers(1, 511), st.booleans(), st.sampled_from(("float32", "bfloat16")))
def test_more_tokens_never_need_less(batch: int, length: int, checkpointing: bool, precision: str) -> None:
    def peak(batch: int, length: int) -> int:
        return memory.training(
            Job(
                config=preset("albert-base-v2"),
                batch=batch,
                length=length,
                precision=precision,  # type: ignore[arg-type]
                checkpointing=checkpointing,
            )
        ).peak

    assert peak(batch, length) <= min(peak(batch + 1, length), peak(batch, length + 1))


@given(st.sampled_from(("albert-base-v2", "bert-base-uncased", "albert_xlarge_zh")), st.integers(1, 64))
def test_checkpointing_keeps_less_and_sharing_does_not_change_what_is_kept(name: str, batch: int) -> None:
    config = preset(name)
    plain, checkpointed = (Job(config=config, batch=batch, checkpointing=on) for on in (False, True))
    assert activations.everything(checkpointed) < activations.everything(plain)
    unshared = Job(config=config.with_(sharing="none"), batch=batch)
    assert activations.everything(unshared) == activations.everything(plain)


def test_optimiser_state_is_two_moments_or_none() -> None:
    config: EncoderConfig = preset("bert-tiny")
    owned = sum(w.numel() for w in tracing.Model(config).parameters())
    for name, each in (("adamw", 8), ("lamb", 8), ("sgd", 0)):
        assert memory.training(Job(config=config, optimiser=name)).optimiser == each * owned


@pytest.mark.parametrize(
    "wrong",
    [{"batch": 0}, {"length": 513}, {"asked_share": 2.0}, {"precision": "int8"}, {"optimiser": "adam"}],
)
def test_impossible_jobs_are_refused_in_one_line(wrong: dict[str, object]) -> None:
    with pytest.raises(AlbertineError, match=next(iter(wrong))):
        Job(config=preset("albert-base-v2"), **wrong)  # type: ignore[arg-type]
