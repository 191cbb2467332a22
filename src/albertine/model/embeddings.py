"""Tokens → states of width H, through tables of width E (factorised embeddings, ALBERT §3.1).

Google's layout adds positions and types in E, normalises there, then maps E→H. brightmart's maps the
words first, and adds positions and types in H. BERT and RoBERTa have E = H and no map.

Shapes: N rows, E embedding, H hidden.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor, nn

from albertine.config import EncoderConfig


class Embeddings(nn.Module):
    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        width = config.embedding_space_size
        self.word = nn.Embedding(config.vocab_size, config.embedding_size)
        self.position = nn.Embedding(config.max_positions + config.first_position, width)
        self.segment = nn.Embedding(config.num_types, width) if config.num_types else None
        self.norm = nn.LayerNorm(width, eps=config.norm_eps) if config.embedding_norm else None
        self.projection = (
            None
            if config.projection == "none"
            else nn.Linear(config.embedding_size, config.hidden_size, bias=config.projection == "affine")
        )
        self.project_first = config.embedding_space == "H"
        self.dropout = config.hidden_dropout

    def forward(self, ids_N: Tensor, positions_N: Tensor, types_N: Tensor) -> Tensor:
        """Rows of hidden states, ready for the first layer."""
        states_NE = self.tables(ids_N, positions_N, types_N)
        states_NE = F.dropout(states_NE, self.dropout, self.training)
        return states_NE if self.projection is None or self.project_first else self.projection(states_NE)

    def tables(self, ids_N: Tensor, positions_N: Tensor, types_N: Tensor) -> Tensor:
        """Words + positions + types, normalised: what the original graphs call the embedding output."""
        states = self.word(ids_N)
        if self.projection is not None and self.project_first:
            states = self.projection(states)
        states = states + self.position(positions_N)
        if self.segment is not None:
            states = states + self.segment(types_N)
        return states if self.norm is None else self.norm(states)
