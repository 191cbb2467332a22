"""The encoder, top to bottom: tables → layers → heads.

    model = Model(albert_base)
    out = model(ids_BT, real_BT=mask)
    logits_MV = model.masked_words(out.states_BTH, asked_M)

Shapes: B batch, T positions, N rows (real tokens), M asked positions, H hidden, V vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from albertine.config import EncoderConfig
from albertine.model import layer as layers
from albertine.model.attention import Way
from albertine.model.embeddings import Embeddings
from albertine.model.heads import MaskedWords
from albertine.model.visibility import Visibility, host_mask


@dataclass
class Output:
    """What a forward pass gives; padding holds zeros where rows were packed, and means nothing elsewhere."""

    states_BTH: Tensor
    layers: list[Tensor] = field(default_factory=list)  # states after each layer, when asked for


class Model(nn.Module):
    """Embeddings, shared or unshared layers, pooler and pretraining heads, as the config says."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        attentions, ffns = config.sharing.stored(config.num_layers)
        self.embeddings = Embeddings(config)
        self.attention = nn.ModuleList(layers.AttentionBlock(config) for _ in range(attentions))
        self.ffn = nn.ModuleList(layers.FeedForwardBlock(config) for _ in range(ffns))
        self.final_norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps) if config.final_norm else None
        self.pooler = nn.Linear(config.hidden_size, config.hidden_size) if config.pooler else None
        self.mlm = MaskedWords(config) if config.mlm_head != "none" else None
        self.pair = nn.Linear(config.hidden_size, 2) if config.pair_head else None
        self.way: Way = "fused"
        self._layer = layers.layer
        self.initialise()

    def initialise(self) -> None:
        """Truncated normal at two deviations, zeros for biases, ones for LayerNorm scales: as published."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                deviation = self.config.initializer_range
                nn.init.trunc_normal_(module.weight, std=deviation, a=-2 * deviation, b=2 * deviation)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def compile_layers(self) -> None:
        """Compile the layer function: once for each distinct pair of blocks and each shape."""
        self._layer = torch.compile(layers.layer, dynamic=False)

    def forward(
        self,
        ids_BT: Tensor,
        real_BT: Tensor | None = None,
        types_BT: Tensor | None = None,
        *,
        depth: int | None = None,
        keep_layers: bool = False,
        pack: bool | None = None,
    ) -> Output:
        """States of every token. `depth` runs the plan shallower or deeper than the config says.

        `pack` drops padding from everything but attention. Left alone, it is done whenever the mask can
        be read on the host for nothing.
        """
        pack = host_mask(real_BT) if pack is None else pack
        visibility = Visibility.of(ids_BT.shape[0], ids_BT.shape[1], real_BT, pack=pack)
        states_NH = self.embeddings(*self._tokens(ids_BT, types_BT, visibility))
        kept: list[Tensor] = []
        for attention, ffn in self.plan(depth):
            blocks = self.attention[attention], self.ffn[ffn]
            states_NH = self._layer(states_NH, *blocks, visibility, self.way)
            if keep_layers:
                kept.append(visibility.spread(states_NH))
        if self.final_norm is not None:
            states_NH = self.final_norm(states_NH)
        return Output(visibility.spread(states_NH), kept)

    def plan(self, depth: int | None = None) -> tuple[tuple[int, int], ...]:
        """The (attention, feed-forward) blocks of every application, at this depth."""
        depth = self.config.num_layers if depth is None else depth
        self.config.sharing.check(depth, self.config.num_layers)
        return self.config.sharing.plan(depth)

    def _tokens(self, ids_BT: Tensor, types_BT: Tensor | None, visibility: Visibility) -> tuple[Tensor, Tensor, Tensor]:
        """Word, position and type ids, one row a token."""
        types_BT = torch.zeros_like(ids_BT) if types_BT is None else types_BT
        inputs = (ids_BT, self._positions(ids_BT, visibility.real_BT), types_BT)
        ids_N, positions_N, types_N = (visibility.pack(x).squeeze(-1) for x in inputs)
        return ids_N, positions_N, types_N

    def _positions(self, ids_BT: Tensor, real_BT: Tensor | None) -> Tensor:
        """Rows of the position table: 0, 1, 2… in BERT; in RoBERTa the count of tokens that are not padding."""
        first = self.config.first_position
        if first == 0:
            return torch.arange(ids_BT.shape[1], device=ids_BT.device).expand_as(ids_BT)
        counted_BT = (ids_BT != self.config.pad_id if real_BT is None else real_BT).long()
        return counted_BT.cumsum(1) * counted_BT + first - 1

    def embedding_output(self, ids_BT: Tensor, types_BT: Tensor | None = None) -> Tensor:
        """What the original graphs call the embedding output, for parity checks: E or H wide."""
        visibility = Visibility(ids_BT.shape[0], ids_BT.shape[1])
        return visibility.spread(self.embeddings.tables(*self._tokens(ids_BT, types_BT, visibility)))

    def masked_words(self, states_BTH: Tensor, asked_M: Tensor) -> Tensor:
        """Logits over the vocabulary at the asked places of the flattened batch (b · T + t)."""
        if self.mlm is None:
            raise ValueError("this encoder has no masked-word head")
        return self.mlm(states_BTH.flatten(0, 1).index_select(0, asked_M), self.embeddings)

    def pooled(self, states_BTH: Tensor) -> Tensor:
        """The first token's state through a dense layer and tanh: what the pair head and classifiers read."""
        if self.pooler is None:
            raise ValueError("this encoder has no pooler")
        return torch.tanh(self.pooler(states_BTH[:, 0]))

    def pairs(self, states_BTH: Tensor) -> Tensor:
        """Two logits a sequence: in order or next, swapped or random."""
        if self.pair is None:
            raise ValueError("this encoder has no pair head")
        return self.pair(self.pooled(states_BTH))
