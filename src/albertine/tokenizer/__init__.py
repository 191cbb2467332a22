"""Text ⇄ token ids, with any tokenizer that was published for this family."""

from albertine.tokenizer.batch import Batch
from albertine.tokenizer.tokenizer import Tokenizer

__all__ = ["Batch", "Tokenizer"]
