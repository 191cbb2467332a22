"""Small random encoders of every kind, with weights large enough to tell mistakes from noise."""

from __future__ import annotations

import torch

from albertine.config import EncoderConfig
from albertine.model.model import Model

BASE = EncoderConfig(
    vocab_size=97,
    embedding_size=16,
    hidden_size=48,
    num_layers=4,
    num_heads=4,
    intermediate_size=96,
    max_positions=40,
    initializer_range=0.1,
)
BERT = {"embedding_size": 48, "projection": "none", "sharing": "none"}
BRIGHTMART = {"embedding_space": "H", "projection": "linear", "mlm_head": "hidden"}
PRE = {"norm": "pre", "embedding_norm": False, "final_norm": True}
ROBERTA = {
    **BERT,
    "num_types": 0,
    "activation": "gelu_erf",
    "mlm_activation": "gelu_erf",
    "norm_eps": 1e-5,
    "pad_id": 1,
    "first_position": 2,
    "pooler": False,
    "pair_head": False,
}
# what it is → (options, the stock model type that computes it)
EXPRESSIBLE: dict[str, tuple[dict, str]] = {
    "albert": ({}, "albert"),
    "albert, none shared": ({"sharing": "none"}, "albert"),
    "albert, attention shared": ({"sharing": "attention"}, "albert"),
    "albert, ffn shared": ({"sharing": "ffn"}, "albert"),
    "albert, groups": ({"sharing": "groups(2,2)"}, "albert"),
    "albert, uneven groups": ({"sharing": "groups(3,1)", "num_layers": 7}, "albert"),
    "albert, a skipped group": ({"sharing": "groups(22,1)", "num_layers": 22}, "albert"),
    "albert, formulas differ": ({"sharing": "groups(14,1)", "num_layers": 36}, "albert"),
    "albert, relu": ({"activation": "relu", "mlm_activation": "relu"}, "albert"),
    "albert, swish": ({"activation": "swish", "mlm_activation": "swish"}, "albert"),
    "albert, erf": ({"activation": "gelu_erf", "mlm_activation": "gelu_erf"}, "albert"),
    "albert, no bias in E→H": ({"projection": "linear"}, "albert"),
    "albert, E = H": ({"embedding_size": 48, "projection": "none"}, "albert"),
    "albert, E = H, attention shared": (
        {"embedding_size": 48, "projection": "none", "sharing": "attention"},
        "albert",
    ),
    "albert, untied": ({"mlm_tied": False}, "albert"),
    "albert, positions from 2": (
        {k: ROBERTA[k] for k in ("num_types", "pad_id", "first_position")},
        "albert",
    ),
    "bert": (BERT, "bert"),
    "bert, words only": ({**BERT, "pooler": False, "pair_head": False}, "bert"),
    "bert, no heads": ({**BERT, "mlm_head": "none", "pair_head": False}, "bert"),
    "bert, pairs only": ({**BERT, "mlm_head": "none"}, "bert"),
    "bert, untied": ({**BERT, "mlm_tied": False}, "bert"),
    "brightmart": (BRIGHTMART, "bert"),
    "brightmart, attention shared": ({**BRIGHTMART, "sharing": "attention"}, "bert"),
    "brightmart, bias in E→H": ({**BRIGHTMART, "projection": "affine"}, "bert"),
    "brightmart, untied": ({**BRIGHTMART, "mlm_tied": False}, "bert"),
    "pre-LN": ({**BRIGHTMART, **PRE}, "megatron-bert"),
    "pre-LN, E = H, none shared": ({**BERT, **PRE}, "megatron-bert"),
    "roberta": (ROBERTA, "roberta"),
    "roberta, shared, with pairs": (
        {**ROBERTA, "sharing": "all", "num_types": 1, "pooler": True, "pair_head": True},
        "roberta",
    ),
}


def config(options: dict) -> EncoderConfig:
    return BASE.with_(**options)


def random_model(options: dict, seed: int = 0) -> Model:
    """Every parameter is random, LayerNorm's too: nothing that is swapped can stay unnoticed."""
    torch.manual_seed(seed)
    model = Model(config(options)).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            torch.nn.init.normal_(parameter, 0.4, 0.2)
    return model


def tokens(options: dict, *, length: int = 24, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Ids, mask and segments of two sequences, the second one shorter."""
    torch.manual_seed(seed)
    c = config(options)
    ids = torch.randint(3, c.vocab_size, (2, length))
    mask = torch.ones_like(ids)
    mask[1, length // 2 :] = 0
    ids[mask == 0] = c.pad_id
    segments = (torch.arange(length) >= length // 3).long().expand_as(ids) if c.num_types > 1 else ids * 0
    return ids, mask, segments
