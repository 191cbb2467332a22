"""What a model costs before it is built: parameters, operations, memory, and the papers beside them."""

from albertine.plan.verb import run

__all__ = ["run"]
