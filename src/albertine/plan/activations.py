"""What a forward pass keeps for the backward pass, tensor by tensor.

Read it beside `model/layer.py`: each line below is a tensor that autograd saves there. A linear map saves
its input, an activation its input (ReLU its output, which the next map saves anyway), LayerNorm its input
with a mean and a deviation a row, fused attention its queries, keys, values, output and one number a query;
sums and views save nothing. Under CUDA autocast matrix products read bfloat16 copies, and save those,
while LayerNorm and the loss work in float32. Sharing changes nothing here: every application keeps its own.

N tokens, H hidden, I intermediate, E embedding, K masked-word head, M asked positions, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass

from albertine.plan.flops import goes_back
from albertine.plan.job import Job

WIDE = 4  # float32
INDEX = 8  # int64


@dataclass(frozen=True)
class Saved:
    """One tensor that waits for the backward pass."""

    what: str
    bytes: int


def total(saved: list[Saved]) -> int:
    return sum(tensor.bytes for tensor in saved)


def _norm(rows: int, width: int, what: str) -> list[Saved]:
    return [
        Saved(f"{what}: LayerNorm's input", WIDE * rows * width),
        Saved(f"{what}: LayerNorm's mean and deviation", 2 * WIDE * rows),
    ]


def _dropout(rows: int, width: int, probability: float, what: str) -> list[Saved]:
    return [Saved(f"{what}: dropout's mask", rows * width)] if probability else []


def layer(job: Job) -> list[Saved]:
    """One application of a layer; the order of norm and residual changes which, not how much."""
    config, rows, narrow = job.config, job.tokens, job.narrow
    hidden, inner = config.hidden_size, config.intermediate_size
    joined = config.activation == "relu"  # its output serves it and the outer map
    return [
        Saved("attention: input of the joint map", narrow * rows * hidden),
        Saved("attention: queries, keys, values", 3 * narrow * rows * hidden),  # views of one storage
        Saved("attention: log-sum-exp of the scores", WIDE * rows * config.num_heads),
        Saved("attention: input of the output map", narrow * rows * hidden),  # fused attention's own output
        *_dropout(rows, hidden, config.hidden_dropout, "attention"),
        *_norm(rows, hidden, "attention"),
        Saved("feed-forward: input of the inner map", narrow * rows * hidden),
        Saved("feed-forward: input of the activation", 0 if joined else narrow * rows * inner),
        Saved("feed-forward: input of the outer map", narrow * rows * inner),
        *_dropout(rows, hidden, config.hidden_dropout, "feed-forward"),
        *_norm(rows, hidden, "feed-forward"),
    ]


def layer_input(job: Job, application: int) -> int:
    """Bytes of the states that enter a layer: what checkpointing keeps of it."""
    width = job.stream if application == 0 else job.later_stream
    return width * job.tokens * job.config.hidden_size


def embeddings(job: Job) -> list[Saved]:
    config, rows = job.config, job.tokens
    space = config.embedding_space_size
    tables = 3 if config.num_types else 2
    saved = [Saved("embeddings: word, position, segment numbers", tables * INDEX * rows)]
    if config.embedding_norm:
        saved += _norm(rows, space, "embeddings")
    saved += _dropout(rows, space, config.hidden_dropout, "embeddings")
    if config.projection != "none":
        saved.append(Saved("embeddings: input of the E→H map", job.narrow * rows * config.embedding_size))
    return saved


def masked_words(job: Job) -> list[Saved]:
    """The masked-word head and its loss, at the asked positions only."""
    config, rows, narrow = job.config, job.asked, job.narrow
    if config.mlm_head == "none":
        return []
    width = config.mlm_size
    joined = config.mlm_activation == "relu" and narrow == WIDE  # ReLU's output is LayerNorm's input
    return [
        Saved("masked words: places and answers", 2 * INDEX * rows),
        Saved("masked words: input of the dense map", narrow * rows * config.hidden_size),
        Saved("masked words: input of the activation", 0 if joined else narrow * rows * width),
        *_norm(rows, width, "masked words"),
        Saved("masked words: LayerNorm's output", narrow * rows * width),
        Saved("masked words: state back in E", narrow * rows * config.embedding_size if goes_back(config) else 0),
        Saved("masked words: log-probabilities", WIDE * rows * config.vocab_size),
    ]


def pair(job: Job) -> list[Saved]:
    """The pooler and the pair loss. In float32 its input is a view that keeps all states."""
    config, hidden = job.config, job.config.hidden_size
    if not config.pair_head:
        return []
    keeps = job.narrow * job.batch * hidden if job.narrow < job.last_state else states(job)
    return [
        Saved("pair: pooler's input", keeps),
        Saved("pair: pooled states", job.narrow * job.batch * hidden),
        Saved("pair: log-probabilities and answers", (2 * WIDE + INDEX) * job.batch),
    ]


def final_norm(job: Job) -> list[Saved]:
    return _norm(job.tokens, job.config.hidden_size, "last") if job.config.final_norm else []


def states(job: Job) -> int:
    """Bytes of the states that the encoder returns."""
    return job.last_state * job.tokens * job.config.hidden_size


def layers(job: Job) -> int:
    """What all applications of all layers keep until they are needed."""
    applications = range(job.config.num_applications)
    if job.checkpointing:
        return sum(layer_input(job, application) for application in applications)
    return total(layer(job)) * len(applications)


def outside_layers(job: Job) -> int:
    return total(embeddings(job) + final_norm(job) + masked_words(job) + pair(job))


def everything(job: Job) -> int:
    """What waits for the backward pass when the loss is known, without weights and their copies."""
    return layers(job) + outside_layers(job)
