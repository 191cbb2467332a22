"""Checkpoints of every format that is known → our names → directories that stock libraries open."""
