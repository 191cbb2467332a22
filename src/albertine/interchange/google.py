"""Names and configs of the TensorFlow 1 encoders: Google's ALBERT and BERT, TF-Hub's ALBERT, brightmart's.

The layouts differ in how a layer's scope is spelled, so one table of patterns recognises all of them:

    bert/encoder/transformer/group_0/inner_group_0/attention_1/self/query/kernel   Google's ALBERT
    module/bert/encoder/transformer/group_0_7/layer_7/inner_group_0/…              TF-Hub's modules
    bert/encoder/layer_3/attention/self/query/kernel                               BERT
    bert/encoder/layer_shared/attention/self/query/kernel                          brightmart's albert_zh
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from albertine.config import Activation, EncoderConfig
from albertine.errors import AlbertineError, about
from albertine.files import choice, number, read_json, whole
from albertine.interchange.checkpoint import Checkpoint, Slot, assemble, check
from albertine.interchange.tensorflow import read_bundle
from albertine.interchange.tensors import Lazy
from albertine.sharing import MOST, Sharing, explicit

# In all of these repositories "gelu" is the tanh approximation.
ACTIVATIONS: dict[str, Activation] = {"gelu": "gelu_tanh", "relu": "relu", "swish": "swish"}

_GROUP = r"(?:encoder/)?transformer/group_(?P<group>\d+)(?:_\d+)?/(?:layer_\d+/)?inner_group_(?P<inner>\d+)"
# brightmart's partial sharing numbers the unshared half inside `layer_shared`: attention_3, output_3.
_ATTENTION, _INNER, _OUTER = (
    rf"encoder/(?:layer_(?P<layer>\d+|shared)/{scope}|layer_shared/{scope}_(?P<own>\d+))"
    for scope in ("attention", "intermediate", "output")
)
_SELF = r"/self/(?P<part>query|key|value)/(?P<leaf>kernel|bias)"
_LEAF = r"/(?P<leaf>kernel|bias|gamma|beta)"

# (pattern of a variable's name below the scope `bert/`, our name); `A` and `F` stand for block numbers.
_PATTERNS: list[tuple[str, str]] = [
    (r"embeddings/word_embeddings", "embeddings.word.weight"),
    (r"embeddings/word_embeddings_2", "embeddings.projection.kernel"),
    (r"embeddings/position_embeddings", "embeddings.position.weight"),
    (r"embeddings/token_type_embeddings", "embeddings.segment.weight"),
    (rf"embeddings/(?:LayerNorm|layer_normalization){_LEAF}", "embeddings.norm"),
    (rf"encoder/embedding_hidden_mapping_in{_LEAF}", "embeddings.projection"),
    (rf"{_GROUP}/attention_1{_SELF}", "attention.A.qkv"),
    (rf"{_GROUP}/attention_1/output/dense{_LEAF}", "attention.A.output"),
    (rf"{_GROUP}/LayerNorm{_LEAF}", "attention.A.norm"),
    (rf"{_GROUP}/ffn_1/intermediate/dense{_LEAF}", "ffn.F.inner"),
    (rf"{_GROUP}/ffn_1/intermediate/output/dense{_LEAF}", "ffn.F.outer"),
    (rf"{_GROUP}/LayerNorm_1{_LEAF}", "ffn.F.norm"),
    (rf"{_ATTENTION}{_SELF}", "attention.A.qkv"),
    (rf"{_ATTENTION}/output/dense{_LEAF}", "attention.A.output"),
    (rf"{_ATTENTION}/output/LayerNorm{_LEAF}", "attention.A.norm"),
    (rf"{_INNER}/dense{_LEAF}", "ffn.F.inner"),
    (rf"{_OUTER}/dense{_LEAF}", "ffn.F.outer"),
    (rf"{_OUTER}/LayerNorm{_LEAF}", "ffn.F.norm"),
    (rf"pooler/dense{_LEAF}", "pooler"),
    (rf"cls/predictions/transform/dense{_LEAF}", "mlm.dense"),
    (rf"cls/predictions/transform/LayerNorm{_LEAF}", "mlm.norm"),
    (r"cls/predictions/output_bias", "mlm.bias"),
    (r"cls/seq_relationship/output_weights", "pair.weight"),
    (r"cls/seq_relationship/output_bias", "pair.bias"),
]
_COMPILED = [(re.compile(pattern), ours) for pattern, ours in _PATTERNS]
_LEAVES = {"kernel": "weight", "bias": "bias", "gamma": "weight", "beta": "bias"}
_PARTS = {"query": 0, "key": 1, "value": 2}
_BOOKKEEPING = re.compile(r"(/|^)(adam_[mv]|lamb_[mv]|Adam(_\d+)?|Momentum|global_step|beta\d_power|.*_power)$")


def read_google(prefix: Path, overrides: Mapping[str, Any]) -> Checkpoint:
    """The checkpoint at `prefix` (without `.index`), with the config and vocabulary found beside it."""
    variables = read_bundle(prefix)
    slots = {name: slot for name in variables if (slot := place(name))}
    if not slots:
        raise AlbertineError(f"{prefix}.index: {_unknown(variables)}")
    layout = _layout(slots, variables, prefix)
    config_file, options = _config_file(prefix, layout)
    with about(config_file):
        config = _config(options, layout, config_file, variables, slots).with_(**overrides)
    tensors = assemble(variables, slots)
    left_out = [n for n in variables if n not in slots and not _BOOKKEEPING.search(n)]
    checkpoint = Checkpoint(
        config,
        tensors,
        layout.source,
        prefix,
        vocabulary_beside(prefix),
        left_out=left_out,
        notes=layout.notes,
    )
    return check(checkpoint, slots, config_file)


def place(name: str) -> Slot | None:
    """Which of our tensors a variable is, by its name alone."""
    below = re.sub(r"^(module/)?(bert/)?", "", name)
    for pattern, ours in _COMPILED:
        if match := pattern.fullmatch(below):
            return _slot(ours, match.groupdict())
    return None


def _slot(ours: str, found: dict[str, str | None]) -> Slot:
    leaf, part = found.get("leaf"), found.get("part")
    if ours == "embeddings.projection.kernel":
        return Slot("embeddings.projection.weight", transposed=True)
    if leaf:
        ours = f"{ours}.{_LEAVES[leaf]}"
    block = found.get("own") or found.get("layer") or _block_of_group(found)
    if block is not None:
        ours = re.sub(r"\.[AF]\.", f".{0 if block == 'shared' else block}.", ours)
    return Slot(ours, _PARTS[part] if part else None, transposed=leaf == "kernel")


def _block_of_group(found: dict[str, str | None]) -> str | None:
    # How many blocks a group holds is known only once all names are: `_renumber` finishes this.
    if found.get("group") is None:
        return None
    return f"{found['group']}-{found['inner']}"


@dataclass
class _Layout:
    """What the variables' names tell: which repository, and which blocks there are."""

    source: str
    sharing: Sharing | None  # None: the config has to tell
    google_albert: bool
    brightmart: bool
    hub: bool
    notes: list[str]


def _layout(slots: dict[str, Slot], variables: Mapping[str, Lazy], prefix: Path) -> _Layout:
    grouped = any("group_" in name for name in slots)
    shared = any("layer_shared" in name for name in slots)
    hub = any(name.startswith("module/") for name in slots) or prefix.name == "variables"
    if grouped:
        _renumber(slots)
        origin = "TF-Hub's ALBERT" if hub else "google-research/albert"
        return _Layout(f"TensorFlow 1, {origin}", None, True, False, hub, [])
    if shared or any(name.endswith("word_embeddings_2") for name in variables):
        return _Layout("TensorFlow 1, brightmart/albert_zh", _brightmart_sharing(slots), False, True, False, [])
    return _Layout("TensorFlow 1, google-research/bert", Sharing("none"), False, False, hub, [])


def _renumber(slots: dict[str, Slot]) -> None:
    """Blocks are group · inner + position, once it is known how many blocks a group holds."""
    pairs = {tuple(map(int, m.groups())) for slot in slots.values() if (m := _PAIR.search(slot.ours))}
    inner = max(position for _, position in pairs) + 1
    for name, slot in slots.items():
        if match := _PAIR.search(slot.ours):
            block = int(match[1]) * inner + int(match[2])
            slots[name] = Slot(_PAIR.sub(f".{block}.", slot.ours), slot.part, slot.transposed)


_PAIR = re.compile(r"\.(\d+)-(\d+)\.")


def _brightmart_sharing(slots: dict[str, Slot]) -> Sharing:
    attentions = _count(slots, "attention")
    ffns = _count(slots, "ffn")
    kinds = {(False, False): "all", (False, True): "attention", (True, False): "ffn", (True, True): "none"}
    return Sharing.parse(kinds[attentions > 1, ffns > 1])


def _count(slots: dict[str, Slot], kind: str) -> int:
    return 1 + max(
        (int(slot.ours.split(".")[1]) for slot in slots.values() if slot.ours.startswith(f"{kind}.")),
        default=0,
    )


def _config(
    options: dict[str, Any], layout: _Layout, file: str, variables: Mapping[str, Lazy], slots: dict[str, Slot]
) -> EncoderConfig:
    """The options of a published config file, the graph's own facts filled in from the variables."""
    ours = {slot.ours: variables[name] for name, slot in slots.items()}
    table = ours.get("embeddings.word.weight")
    if table is None or len(table.shape) != 2:
        raise AlbertineError(f"{file}: the checkpoint has no word_embeddings matrix")
    hidden = whole(options, "hidden_size", file)
    embedding = whole(options, "embedding_size", file, table.shape[1])
    layers = whole(options, "num_hidden_layers", file, most=MOST)
    activation = choice(options, "hidden_act", file, ACTIVATIONS, "gelu")
    projected = "embeddings.projection.weight" in ours
    return EncoderConfig(
        vocab_size=whole(options, "vocab_size", file),
        embedding_size=embedding,
        hidden_size=hidden,
        num_layers=layers,
        num_heads=whole(options, "num_attention_heads", file),
        intermediate_size=whole(options, "intermediate_size", file),
        max_positions=whole(options, "max_position_embeddings", file),
        num_types=whole(options, "type_vocab_size", file, 2),
        sharing=_sharing(options, layout, slots, layers, file),
        norm="pre" if layout.brightmart and options.get("ln_type") == "preln" else "post",
        activation=activation,
        mlm_activation=activation,
        embedding_space="H" if layout.brightmart else "E",
        projection=("linear" if layout.brightmart else "affine") if projected else "none",
        mlm_head="none" if "mlm.bias" not in ours else "hidden" if layout.brightmart else "embedding",
        pooler="pooler.weight" in ours,
        pair_head="pair.weight" in ours,
        hidden_dropout=number(options, "hidden_dropout_prob", file, 0.0),
        attention_dropout=number(options, "attention_probs_dropout_prob", file, 0.0),
    )


def _sharing(options: dict[str, Any], layout: _Layout, slots: dict[str, Slot], layers: int, file: str) -> Sharing:
    if layout.sharing is not None:
        return layout.sharing
    groups = whole(options, "num_hidden_groups", file, 1, most=MOST)
    inner = whole(options, "inner_group_num", file, 1, most=MOST)
    if not 1 <= groups <= layers or inner < 1:
        raise AlbertineError(f"{file}: {groups} groups of {inner} for {layers} layers")
    named = Sharing("groups", groups, inner)
    plan = named.plan(layers)
    used = sorted({block for block, _ in plan})
    if len(used) < groups * inner:
        # The published formula skips a group at some sizes (22 of 22): it has no variables either.
        new = {old: index for index, old in enumerate(used)}
        plan = tuple((new[block], new[block]) for block, _ in plan)
        _move_blocks(slots, new)
        return explicit(plan)
    return explicit(plan) if inner == 1 and explicit(plan).kind in ("all", "none") else named


def _move_blocks(slots: dict[str, Slot], new: dict[int, int]) -> None:
    for name, slot in slots.items():
        if match := re.search(r"\.(\d+)\.", slot.ours):
            block = new.get(int(match[1]), int(match[1]))
            slots[name] = Slot(re.sub(r"\.\d+\.", f".{block}.", slot.ours), slot.part, slot.transposed)


def _config_file(prefix: Path, layout: _Layout) -> tuple[str, dict[str, Any]]:
    """The published JSON beside the checkpoint: whichever *config*.json tells of a hidden size."""
    candidates = [
        (file, options)
        for file in sorted(prefix.parent.glob("*config*.json"))
        if (options := read_json(file)) and "hidden_size" in options
    ]
    if len(candidates) == 1:
        return str(candidates[0][0]), candidates[0][1]
    if len(candidates) > 1:
        listed = ", ".join(file.name for file, _ in candidates)
        raise AlbertineError(f"{prefix.parent}: several configs ({listed}); leave one beside the checkpoint")
    if layout.hub and layout.google_albert:
        from albertine.interchange.hub_module import hub_config

        return hub_config(prefix, layout.notes)
    raise AlbertineError(f"{prefix.parent}: no albert_config.json or bert_config.json beside {prefix.name}.index")


def vocabulary_beside(prefix: Path) -> Path | None:
    """spiece.model, 30k-clean.model or vocab.txt beside the checkpoint, or in a TF-Hub module's assets."""
    for folder in (prefix.parent, prefix.parent.parent / "assets"):
        for pattern in ("spiece.model", "*.model", "vocab.txt", "vocab*.txt"):
            for file in sorted(folder.glob(pattern)):
                return file
    return None


def _unknown(names: Iterable[str]) -> str:
    names = list(names)
    if any(name.startswith("model/transformer/") for name in names):
        return "an XLNet checkpoint; this version reads ALBERT, BERT, RoBERTa and UniLM"
    example = f" (the first is {names[0]})" if names else ""
    return f"no layout that is known has these variable names{example}"
