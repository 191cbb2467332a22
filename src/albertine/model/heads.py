"""The masked-word head: it only ever sees the positions that are asked.

Shapes: M asked positions, E embedding, H hidden, V vocabulary.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from albertine.config import EncoderConfig
from albertine.model.embeddings import Embeddings
from albertine.model.layer import activate


class MaskedWords(nn.Module):
    """States at the asked positions → logits over the vocabulary; nothing else ever reaches it.

    Google's head goes H→E and meets the word table; brightmart's stays in H and comes back through the
    transposed E→H map. The word table and the map belong to the embeddings: they are passed in.
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.mlm_size)
        self.norm = nn.LayerNorm(config.mlm_size, eps=config.norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.decoder = None if config.mlm_tied else nn.Linear(config.mlm_size, config.vocab_size, bias=False)
        self.through_projection = config.mlm_head == "hidden"
        self.activation = activate(config.mlm_activation)

    def forward(self, asked_MH: Tensor, embeddings: Embeddings) -> Tensor:
        inner = self.norm(self.activation(self.dense(asked_MH)))
        if self.decoder is not None:
            return F.linear(inner, self.decoder.weight, self.bias)
        if self.through_projection and embeddings.projection is not None:
            inner = inner @ embeddings.projection.weight  # [M, H] · [H, E]
        return F.linear(inner, embeddings.word.weight, self.bias)
