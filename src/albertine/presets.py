"""Published encoders by name, each known trap a named switch.

    preset("albert-base-v2")
    names("albert-*-zh*")

The traps: "gelu" is the tanh form in every TensorFlow repository, while transformers' v1 configs say
erf; Google's Chinese ALBERT uses ReLU; ALBERT-xlarge runs 16 heads although the paper's H/64 gives 32,
and brightmart's runs 32; brightmart's xlarge and xxlarge are pre-LN; v1 models trained with dropout
0.1 (xxlarge and all of v2 without).
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from albertine.config import EncoderConfig
from albertine.errors import AlbertineError, did_you_mean
from albertine.sharing import Sharing


def preset(name: str) -> EncoderConfig:
    """The encoder that was published under this name."""
    if name not in PRESETS:
        suggestion = did_you_mean(name, list(PRESETS))
        raise AlbertineError(
            f"no preset and no path is called {name!r}.{suggestion} `albertine plan --list` shows the presets."
        )
    return PRESETS[name]


def names(pattern: str = "*") -> list[str]:
    """Preset names that match a shell pattern, smallest family first."""
    return [name for name in PRESETS if fnmatchcase(name, pattern)]


def _albert(layers: int, hidden: int, heads: int, *, dropout: float = 0.0) -> EncoderConfig:
    return EncoderConfig(
        vocab_size=30_000,
        embedding_size=128,
        hidden_size=hidden,
        num_layers=layers,
        num_heads=heads,
        intermediate_size=4 * hidden,
        hidden_dropout=dropout,
        attention_dropout=dropout,
    )


def _google_zh(layers: int, hidden: int, heads: int) -> EncoderConfig:
    return _albert(layers, hidden, heads).with_(vocab_size=21_128, activation="relu", mlm_activation="relu")


def _brightmart(layers: int, hidden: int, heads: int, *, pre: bool = False) -> EncoderConfig:
    return _albert(layers, hidden, heads).with_(
        vocab_size=21_128,
        embedding_space="H",
        projection="linear",
        mlm_head="hidden",
        norm="pre" if pre else "post",
    )


def _bert(layers: int, hidden: int, *, heads: int | None = None, vocab: int = 30_522) -> EncoderConfig:
    return EncoderConfig(
        vocab_size=vocab,
        embedding_size=hidden,
        projection="none",
        hidden_size=hidden,
        num_layers=layers,
        num_heads=heads or hidden // 64,
        intermediate_size=4 * hidden,
        sharing=Sharing("none"),
        hidden_dropout=0.1,
        attention_dropout=0.1,
    )


def _roberta(layers: int, hidden: int) -> EncoderConfig:
    return _bert(layers, hidden, vocab=50_265).with_(
        num_types=0,
        activation="gelu_erf",
        mlm_activation="gelu_erf",
        norm_eps=1e-5,
        pad_id=1,
        first_position=2,
        pooler=False,
        pair_head=False,
    )


PRESETS: dict[str, EncoderConfig] = {
    # ALBERT, English (google-research/albert). v1: dropout 0.1 but in xxlarge; v2: none anywhere.
    "albert-base-v1": _albert(12, 768, 12, dropout=0.1),
    "albert-large-v1": _albert(24, 1024, 16, dropout=0.1),
    "albert-xlarge-v1": _albert(24, 2048, 16, dropout=0.1),
    "albert-xxlarge-v1": _albert(12, 4096, 64),
    "albert-base-v2": _albert(12, 768, 12),
    "albert-large-v2": _albert(24, 1024, 16),
    "albert-xlarge-v2": _albert(24, 2048, 16),
    "albert-xxlarge-v2": _albert(12, 4096, 64),
    "albert-xlarge-paper": _albert(24, 2048, 32),  # H/64 heads, as the paper's text has it
    # ALBERT, Chinese (google-research/albert): ReLU.
    "albert-base-zh": _google_zh(12, 768, 12),
    "albert-large-zh": _google_zh(24, 1024, 16),
    "albert-xlarge-zh": _google_zh(24, 2048, 16),
    "albert-xxlarge-zh": _google_zh(12, 4096, 16),
    # ALBERT, Chinese (brightmart/albert_zh): positions and LayerNorm in H, large models pre-LN.
    "albert_tiny_zh": _brightmart(4, 312, 12),
    "albert_base_zh": _brightmart(12, 768, 12),
    "albert_large_zh": _brightmart(24, 1024, 16),
    "albert_xlarge_zh": _brightmart(24, 2048, 32, pre=True),
    "albert_xxlarge_zh": _brightmart(12, 4096, 64, pre=True),
    # The same repository's models in Google's layout.
    "albert_tiny_zh_google": _albert(4, 312, 12).with_(vocab_size=21_128),
    "albert_small_zh_google": _albert(6, 384, 12).with_(vocab_size=21_128),
    # BERT (google-research/bert), and the paper-only xlarge that failed (ALBERT v1, Table 1).
    "bert-tiny": _bert(2, 128),
    "bert-mini": _bert(4, 256),
    "bert-small": _bert(4, 512),
    "bert-medium": _bert(8, 512),
    "bert-base-uncased": _bert(12, 768),
    "bert-large-uncased": _bert(24, 1024),
    "bert-base-cased": _bert(12, 768, vocab=28_996),
    "bert-large-cased": _bert(24, 1024, vocab=28_996),
    "bert-base-multilingual-cased": _bert(12, 768, vocab=119_547),
    "bert-base-chinese": _bert(12, 768, vocab=21_128),
    "bert-xlarge-paper": _bert(24, 2048, heads=16, vocab=30_000),
    # RoBERTa (fairseq): erf gelu, no segments, positions from 2.
    "roberta-base": _roberta(12, 768),
    "roberta-large": _roberta(24, 1024),
}
