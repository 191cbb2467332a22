"""What the verbs say when they are done."""

from __future__ import annotations

from albertine.interchange.convert import Conversion


def show_conversion(done: Conversion) -> None:
    """What was read, what was written, what it was compared with, and what to type next."""
    stock = f"stock {done.stock}" if done.stock else "albertine's own format"
    print(f"{done.source} → {stock}: {done.parameters:,} parameters in {done.seconds:.1f} s → {done.target}")
    for note in done.notes:
        print(f"note: {note}")
    if done.left_out:
        shown = ", ".join(done.left_out[:5]) + (", …" if len(done.left_out) > 5 else "")
        print(f"left out: {len(done.left_out)} tensors that are not part of the encoder ({shown})")
    print(f"tokenizer: {done.tokenizer or 'none found; name one with --tokenizer'}")
    print(_parity(done))
    print(f"Next: albertine {_next(done)}")


def _next(done: Conversion) -> str:
    if done.tokenizer is None:
        return f"plan {done.target}"
    return f'fill {done.target} "…[MASK]…"' if done.fills else f"embed {done.target} texts.txt --out vectors.npy"


def _parity(done: Conversion) -> str:
    if done.parity is None:
        return "parity: not checked"
    shown = ", ".join(f"{name} {gap.largest:.1e}" for name, gap in done.parity.parts.items())
    return f"parity with {done.parity.by}: largest difference {done.parity.worst:.1e} ({shown})"
