"""Bytes on the accelerator for a training step, and for encoding a batch.

The peak of a step is the largest of its moments: each holds weights, optimiser state, what is still
saved, the gradients so far, and what that moment works with. The step is taken to hold its states and
logits until it ends, to clear gradients to nothing, and to leave autocast before it goes back.
Layers run eagerly: what compiled ones keep is their compiler's choice. The matrix library's workspace,
fragmentation and the CUDA context come on top.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import prod

from albertine.model.shapes import shapes
from albertine.plan import activations as kept
from albertine.plan import parameters
from albertine.plan.activations import INDEX, WIDE
from albertine.plan.job import Job, Optimiser
from albertine.plan.parameters import Parameters

STATE_BYTES: dict[Optimiser, int] = {"adamw": 8, "lamb": 8, "sgd": 0}  # per parameter: two moments, or none
STEP_BYTES: dict[Optimiser, int] = {
    "adamw": 0,
    "lamb": 4,
    "sgd": 0,
}  # LAMB measures an update before it applies it


@dataclass(frozen=True)
class Training:
    """A training step's bytes: what stays, what is saved, and the peak at each of its moments."""

    weights: int
    gradients: int
    optimiser: int
    copies: int  # weights cast to bfloat16, once each however often a block is used
    activations: int
    held: int  # states, logits and the batch itself
    moments: dict[str, int]

    @property
    def peak(self) -> int:
        return max(self.moments.values())

    @property
    def peak_at(self) -> str:
        return max(self.moments, key=lambda moment: self.moments[moment])

    def to_dict(self) -> dict[str, object]:
        return {**asdict(self), "peak": self.peak, "peak_at": self.peak_at}


@dataclass(frozen=True)
class Inference:
    """Bytes to encode one batch into states, nothing saved."""

    weights: int
    copies: int
    activations: int

    @property
    def peak(self) -> int:
        return self.weights + self.copies + self.activations

    def to_dict(self) -> dict[str, int]:
        return {**asdict(self), "peak": self.peak}


def training(job: Job) -> Training:
    owned = parameters.count(job.config)
    weights = WIDE * owned.with_heads
    optimiser = STATE_BYTES[job.optimiser] * owned.with_heads
    copies, held = weight_copies(job), held_by_step(job)
    base = weights + optimiser + held
    return Training(
        weights=weights,
        gradients=WIDE * owned.with_heads,
        optimiser=optimiser,
        copies=copies,
        activations=kept.everything(job),
        held=held,
        moments={
            "loss": base + kept.everything(job) + max(_loss_forward(job), _loss_backward(job)),
            "last layer": base + _last_layer(job, owned),
            "first layer": base + WIDE * owned.with_heads + _first_layer(job),
            "embeddings": base + WIDE * owned.with_heads + _embedding_work(job, owned),
            "optimiser step": base + (WIDE + STEP_BYTES[job.optimiser]) * owned.with_heads,
        },
    )


def inference(job: Job) -> Inference:
    """Encoding under the same precision: the feed-forward block is the widest place of a pass."""
    config = job.config
    return Inference(
        weights=WIDE * parameters.count(config).with_heads,
        copies=_copies(job, ("attention.", "ffn.", "embeddings.projection.")),
        activations=job.tokens * (_encoding_row(job) + 3 * INDEX),
    )


def _encoding_row(job: Job) -> int:
    """Bytes a token: the layer's input, the attention block's output, and what feed-forward adds to them."""
    hidden, inner = job.config.hidden_size, job.narrow * job.config.intermediate_size
    state, product = job.later_stream * hidden, job.narrow * hidden
    pre = job.config.norm == "pre"
    summed = state + (product if pre else max(product, state))  # the sum, with its summand or its LayerNorm
    return 2 * state + (WIDE * hidden if pre else 0) + inner + max(inner, summed)


def weight_copies(job: Job) -> int:
    """Every weight and bias that a matrix product reads, cast once; the word table for the logits only."""
    used = ("attention.", "ffn.", "embeddings.projection.", "mlm.", "pooler.", "pair.")
    tied = job.config.mlm_head != "none" and job.config.mlm_tied
    return _copies(job, (*used, "embeddings.word.") if tied else used)


def _copies(job: Job, prefixes: tuple[str, ...]) -> int:
    if job.narrow == WIDE:
        return 0
    return job.narrow * sum(
        prod(shape) for name, shape in shapes(job.config).items() if name.startswith(prefixes) and ".norm." not in name
    )


def held_by_step(job: Job) -> int:
    """The batch, and the outputs that a training step still names while it goes back."""
    named = 0 if job.config.pair_head and job.narrow >= job.last_state else kept.states(job)
    return INDEX * job.tokens + named + job.narrow * job.asked * job.config.vocab_size


def surviving_copies(job: Job) -> int:
    """Copies that outlive autocast: checkpointed layers let theirs go, and cast again one layer at a time."""
    return weight_copies(job) - (_copies(job, ("attention.", "ffn.")) if job.checkpointing else 0)


def _layer_copies(job: Job) -> int:
    attentions, ffns = job.config.sharing.stored(job.config.num_layers)
    return _copies(job, ("attention.",)) // attentions + _copies(job, ("ffn.",)) // ffns


def _loss_forward(job: Job) -> int:
    """The loss reads a float32 copy of narrow logits, while every copied weight is still cached."""
    return weight_copies(job) + (WIDE * job.asked * job.config.vocab_size if job.narrow < WIDE else 0)


def _loss_backward(job: Job) -> int:
    """Gradients before and after the softmax beside the log-probabilities, and the pair loss's gradient."""
    states = kept.states(job) if job.config.pair_head else 0
    return surviving_copies(job) + 2 * WIDE * job.asked * job.config.vocab_size + states


def _layer_work(job: Job) -> int:
    """The widest moment of going back through a layer, less what it has already let go."""
    config, rows, narrow = job.config, job.tokens, job.narrow
    state, inner = WIDE * rows * config.hidden_size, narrow * rows * config.intermediate_size
    released = state if config.norm == "post" else 0
    cast = narrow * rows * config.hidden_size if narrow < WIDE or config.hidden_dropout else 0
    through_norm = 2 * state
    through_outer = state - released + cast + inner
    # One more gradient, and the outer map's input goes: ReLU still reads it, the others read their own.
    through_activation = state - released + (2 * inner if config.activation == "relu" else inner)
    # A weight's gradient; that of a shared weight meets the earlier one, and their sum is a third tensor.
    shared = config.sharing.stored(config.num_layers)[1] < config.num_applications
    gradients = (2 if shared else 1) * narrow * config.hidden_size * config.intermediate_size
    return max(through_norm, through_outer, through_activation) + gradients


def _last_layer(job: Job, owned: Parameters) -> int:
    """Everything saved below the heads, and the heads' gradients: a tied word table has its first half."""
    table = owned.words if job.config.mlm_head != "none" and job.config.mlm_tied else 0
    gradients = WIDE * (owned.with_heads - owned.without_pooler + table)
    recomputed = kept.total(kept.layer(job)) + _layer_copies(job) if job.checkpointing else 0
    saved = kept.layers(job) + kept.total(kept.embeddings(job)) + surviving_copies(job)
    return saved + recomputed + gradients + _layer_work(job) + _waiting(job, owned)


def _waiting(job: Job, owned: Parameters) -> int:
    """What one layer further down adds: a shared block's gradient waits there, the last layer has gone."""
    attentions, ffns = job.config.sharing.stored(job.config.num_layers)
    attention = owned.attention // attentions if attentions < job.config.num_applications else 0
    ffn = owned.ffn // ffns if ffns < job.config.num_applications else 0
    gone = kept.layers(job) // job.config.num_applications
    return max(0, job.narrow * (attention + ffn) - gone)


def _first_layer(job: Job) -> int:
    """One layer is left, when the others have given their gradients."""
    saved = kept.total(kept.layer(job)) + kept.total(kept.embeddings(job)) + _layer_copies(job)
    return saved + _layer_work(job)


def _embedding_work(job: Job, owned: Parameters) -> int:
    """Gradients of the embedded states and a second one of the word table; float32 adds them in a third."""
    tied = job.config.mlm_head != "none" and job.config.mlm_tied
    tables = (2 if job.narrow == WIDE else 1) if tied else 0
    return WIDE * (tables * owned.words + 2 * job.tokens * job.config.embedding_space_size)
