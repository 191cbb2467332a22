"""The stock models' forward passes, written out from their own tensor names and config keys.

A conversion is proved by comparing two computations. Where `transformers` is not installed this is the
second one: it reads the directory that was written, shares no table of names and no module with the
rest of the package, and knows nothing but what stock `transformers` computes.

Shapes: B batch, T positions, H hidden, A heads, D head size.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor


@dataclass
class StockOutput:
    states_BTH: Tensor
    words_BTV: Tensor | None = None
    pairs_B2: Tensor | None = None


class StockForward:
    """The encoder in a stock directory, as a function of ids, mask and segments."""

    def __init__(self, folder: Path) -> None:
        self.config = json.loads((folder / "config.json").read_text("utf-8"))
        self.kind: str = self.config["model_type"]
        prefix = {"albert": "albert.", "roberta": "roberta."}.get(self.kind, "bert.")
        tensors = load_file(folder / "model.safetensors")
        bare = not any(name.startswith(prefix) for name in tensors)
        self.tensors = {(prefix + name if bare else name): tensor.float() for name, tensor in tensors.items()}
        self.prefix = prefix
        gelu_tanh: Callable[[Tensor], Tensor] = lambda x: F.gelu(x, approximate="tanh")  # noqa: E731
        acts = {"gelu": F.gelu, "gelu_new": gelu_tanh, "relu": F.relu, "silu": F.silu}
        self.act: Callable[[Tensor], Tensor] = acts[self.config["hidden_act"]]

    def __call__(self, ids_BT: Tensor, mask_BT: Tensor, segments_BT: Tensor) -> StockOutput:
        states = self.embed(ids_BT, segments_BT)
        bias = torch.where(mask_BT.bool(), 0.0, -torch.inf)[:, None, None, :]
        body = {"albert": self._albert, "megatron-bert": self._megatron}.get(self.kind, self._bert)
        states = body(states, bias)
        return StockOutput(states, self._words(states), self._pairs(states))

    def _linear(self, name: str, x: Tensor) -> Tensor:
        return F.linear(x, self.tensors[f"{name}.weight"], self.tensors.get(f"{name}.bias"))

    def _norm(self, name: str, x: Tensor) -> Tensor:
        weight, bias = self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]
        return F.layer_norm(x, x.shape[-1:], weight, bias, self.config["layer_norm_eps"])

    def embed(self, ids: Tensor, segments: Tensor) -> Tensor:
        at = f"{self.prefix}embeddings."
        pad = self.config["pad_token_id"]
        positions = torch.arange(ids.shape[1]).expand_as(ids)
        if self.kind == "roberta":
            positions = (ids != pad).cumsum(1) * (ids != pad) + pad
        if self.config["type_vocab_size"] == 1:
            segments = torch.zeros_like(segments)
        states = self.tensors[f"{at}word_embeddings.weight"][ids]
        states = states + self.tensors[f"{at}token_type_embeddings.weight"][segments]
        states = states + self.tensors[f"{at}position_embeddings.weight"][positions]
        return states if self.kind == "megatron-bert" else self._norm(f"{at}LayerNorm", states)

    def _attention(self, names: tuple[str, str, str], x_BTH: Tensor, bias: Tensor) -> Tensor:
        heads = self.config["num_attention_heads"]
        q, k, v = (self._linear(name, x_BTH).unflatten(-1, (heads, -1)).transpose(1, 2) for name in names)
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5 + bias
        return (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)

    def _albert(self, states: Tensor, bias: Tensor) -> Tensor:
        states = self._linear("albert.encoder.embedding_hidden_mapping_in", states)
        layers, groups = self.config["num_hidden_layers"], self.config["num_hidden_groups"]
        for layer in range(layers):
            group = int(layer / (layers / groups))
            for inner in range(self.config["inner_group_num"]):
                at = f"albert.encoder.albert_layer_groups.{group}.albert_layers.{inner}"
                qkv = (f"{at}.attention.query", f"{at}.attention.key", f"{at}.attention.value")
                mixed = self._linear(f"{at}.attention.dense", self._attention(qkv, states, bias))
                states = self._norm(f"{at}.attention.LayerNorm", states + mixed)
                inner_states = self._linear(f"{at}.ffn_output", self.act(self._linear(f"{at}.ffn", states)))
                states = self._norm(f"{at}.full_layer_layer_norm", inner_states + states)
        return states

    def _bert(self, states: Tensor, bias: Tensor) -> Tensor:
        for layer in range(self.config["num_hidden_layers"]):
            at = f"{self.prefix}encoder.layer.{layer}"
            self_ = f"{at}.attention.self"
            mixed = self._attention((f"{self_}.query", f"{self_}.key", f"{self_}.value"), states, bias)
            mixed = self._linear(f"{at}.attention.output.dense", mixed)
            states = self._norm(f"{at}.attention.output.LayerNorm", states + mixed)
            inner = self._linear(f"{at}.output.dense", self.act(self._linear(f"{at}.intermediate.dense", states)))
            states = self._norm(f"{at}.output.LayerNorm", inner + states)
        return states

    def _megatron(self, states: Tensor, bias: Tensor) -> Tensor:
        for layer in range(self.config["num_hidden_layers"]):
            at = f"bert.encoder.layer.{layer}"
            self_ = f"{at}.attention.self"
            normed = self._norm(f"{at}.attention.ln", states)
            mixed = self._attention((f"{self_}.query", f"{self_}.key", f"{self_}.value"), normed, bias)
            states = states + self._linear(f"{at}.attention.output.dense", mixed)
            inner = self.act(self._linear(f"{at}.intermediate.dense", self._norm(f"{at}.ln", states)))
            states = states + self._linear(f"{at}.output.dense", inner)
        return self._norm("bert.encoder.ln", states)

    def _words(self, states: Tensor) -> Tensor | None:
        heads = {
            "albert": ("predictions", "predictions.dense", "predictions.LayerNorm"),
            "roberta": ("lm_head", "lm_head.dense", "lm_head.layer_norm"),
        }
        bert = ("cls.predictions", "cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm")
        base, dense, norm = heads.get(self.kind, bert)
        if f"{base}.bias" not in self.tensors:
            return None
        act = F.gelu if self.kind == "roberta" else self.act
        inner = self._norm(norm, act(self._linear(dense, states)))
        table = self.tensors.get(f"{base}.decoder.weight")
        if table is None:
            table = self.tensors[f"{self.prefix}embeddings.word_embeddings.weight"]
        bias = self.tensors.get(f"{base}.decoder.bias", self.tensors[f"{base}.bias"])
        return F.linear(inner, table, bias)

    def _pairs(self, states: Tensor) -> Tensor | None:
        head = "sop_classifier.classifier" if self.kind == "albert" else "cls.seq_relationship"
        if f"{head}.weight" not in self.tensors:
            return None
        pooler = f"{self.prefix}pooler" if self.kind == "albert" else f"{self.prefix}pooler.dense"
        return self._linear(head, torch.tanh(self._linear(pooler, states[:, 0])))
