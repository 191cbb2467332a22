"""The command line: a verb is a function, and what a verb needs is imported when it is called.

An error that a person can mend is one line and exit code 2; `--debug` shows where it came from.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from cyclopts import App, CycloptsError, Parameter

from albertine._version import __version__
from albertine.errors import AlbertineError
from albertine.files import read_lines, split_lines

app = App(
    name="albertine",
    help="Encoders of the ALBERT family: plan them, convert them, use them.",
    version=__version__,
    suppress_keyboard_interrupt=False,  # `main` says that it stopped
    help_epilogue="Start with `albertine plan albert-base-v2`. `--debug` anywhere shows the traceback of an error.",
)

Json = Annotated[bool, Parameter(name="--json", negative="", help="Print JSON for scripts.")]
Flag = Parameter(negative="")


def main() -> NoReturn:
    """Run the verb in `sys.argv`."""
    words = sys.argv[1:]
    debug = "--debug" in words
    try:
        app([word for word in words if word != "--debug"], exit_on_error=False, print_error=False)
    except CycloptsError as error:
        print(f"error: {' '.join(str(error).split())} Try --help.", file=sys.stderr)
        sys.exit(2)
    except AlbertineError as error:
        if debug:
            raise
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone, as `| head` does
        sys.exit(141)
    except OSError as error:
        if debug:
            raise
        print(f"error: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
    sys.exit(0)


@app.command
def plan(
    models: Annotated[list[str] | None, Parameter(help="Preset names, checkpoint folders or files.")] = None,
    /,
    *,
    batch: int = 32,
    length: int | None = None,
    precision: Literal["bfloat16", "float32"] = "bfloat16",
    checkpointing: Annotated[bool, Flag] = False,
    optimiser: Literal["adamw", "lamb", "sgd"] = "adamw",
    paper: Annotated[bool, Flag] = False,
    list_: Annotated[bool, Parameter(name="--list", negative="")] = False,
    as_json: Json = False,
) -> None:
    """Parameters, operations and memory of a model, before spending any.

    Parameters
    ----------
    batch
        Sequences in a micro-batch.
    length
        Tokens in a sequence; 512, or as many as the model takes, when left out.
    precision
        Of the activations; weights and optimiser state stay in float32.
    checkpointing
        Forget activations in the forward pass and compute them again in the backward pass.
    optimiser
        Whose state has to fit.
    paper
        The tables of the ALBERT paper, ours beside theirs.
    list_
        Every preset.
    """
    from albertine.plan import run

    run(
        models or [],
        batch=batch,
        length=length,
        precision=precision,
        checkpointing=checkpointing,
        optimiser=optimiser,
        paper=paper,
        as_json=as_json,
        list_presets=list_,
    )


@app.command
def convert(
    source: str,
    target: Path,
    /,
    *,
    to: Literal["huggingface", "albertine"] = "huggingface",
    tokenizer: Path | None = None,
    no_tokenizer: Annotated[bool, Flag] = False,
    activation: Literal["gelu_tanh", "gelu_erf", "relu", "swish"] | None = None,
    heads: int | None = None,
    norm: Literal["post", "pre"] | None = None,
    overwrite: Annotated[bool, Flag] = False,
    parity: Annotated[bool, Parameter(negative="--no-parity")] = True,
    as_json: Json = False,
) -> None:
    """Any known checkpoint to a directory that stock transformers opens, with a proof of parity.

    Parameters
    ----------
    source
        A folder, a file, a TensorFlow prefix or a hub id; recognised by what it holds.
    target
        The directory to write. It appears whole or not at all.
    to
        Albertine's own format holds what no stock model computes.
    tokenizer
        The vocabulary to send along, when the one beside the checkpoint is not it.
    no_tokenizer
        Convert the weights alone.
    activation
        Correct a config that names the wrong one (tanh or erf gelu).
    heads
        Correct a config that names the wrong number (16 or 32 in xlarge).
    norm
        Correct a config that does not say where LayerNorm stands.
    overwrite
        Replace what is at the target.
    parity
        Compute source and target side by side before anything is published.
    """
    from albertine.hub import resolve
    from albertine.interchange.convert import convert as run

    overrides: dict[str, Any] = {"norm": norm, "num_heads": heads, "activation": activation}
    overrides["mlm_activation"] = activation
    done = run(
        resolve(source),
        target,
        to=to,
        tokenizer=False if no_tokenizer else tokenizer,
        overwrite=overwrite,
        parity=parity,
        overrides={name: value for name, value in overrides.items() if value is not None},
    )
    if as_json:
        print(json.dumps(done.to_dict(), indent=2))
    else:
        from albertine.interchange.show import show_conversion

        show_conversion(done)


@app.command
def fill(
    model: str,
    text: Annotated[
        list[str] | None, Parameter(help="Text with [MASK] in it; lines of standard input otherwise.")
    ] = None,
    /,
    *,
    top: int = 5,
    tokenizer: Path | None = None,
    as_json: Json = False,
) -> None:
    """The likeliest words for every [MASK].

    Parameters
    ----------
    model
        A folder, a file or a hub id.
    top
        Candidates a mask.
    tokenizer
        A vocabulary, when none lies with the model.
    """
    from albertine.encoder import load

    encoder = load(model, tokenizer=tokenizer)
    failed = 0
    for number, line in enumerate(text or _standard_input(), 1):
        if not line.strip():
            continue
        try:
            with _warnings_as_lines():
                guesses = encoder.fill(line, top=top)
        except AlbertineError as error:
            if text is not None and len(text) == 1:
                raise
            print(f"error: line {number}: {error}", file=sys.stderr)  # the lines after it are still wanted
            failed += 1
            continue
        if as_json:
            print(
                json.dumps(
                    {"text": line, "masks": [[asdict(g) for g in mask] for mask in guesses]},
                    ensure_ascii=False,
                )
            )
            continue
        print(line)
        for place, mask in enumerate(guesses, 1):
            found = "  ".join(f"{guess.token} {guess.probability:.3f}" for guess in mask)
            print(f"  {place}: {found}")
    if failed:
        sys.exit(2)


@app.command
def embed(
    model: str,
    file: Annotated[Path | None, Parameter(help="One text a line; standard input otherwise.")] = None,
    /,
    *,
    out: Path | None = None,
    pooling: Literal["mean", "cls", "max"] | None = None,
    normalize: bool | None = None,
    batch_size: int = 32,
    max_length: int | None = None,
    tokenizer: Path | None = None,
    as_json: Json = False,
) -> None:
    """One vector for every line of text.

    Parameters
    ----------
    model
        A folder, a file or a hub id.
    out
        Where the vectors go as a NumPy array (`.npy`).
    pooling
        How token states become one vector; the model's own way when left out.
    normalize
        Scale to length 1; as the model says when left out.
    batch_size
        Texts at once.
    max_length
        Tokens; longer texts are cut, and counted.
    tokenizer
        A vocabulary, when none lies with the model.
    """
    import numpy as np

    from albertine.encoder import load

    if out is None and not as_json:
        raise AlbertineError("where should the vectors go? Give --out vectors.npy, or --json for standard output")
    if out is not None and (out.is_dir() or not out.parent.is_dir()):
        raise AlbertineError(f"{out}: not a file that could be written")
    texts = read_lines(file) if file else _standard_input()
    if not texts:
        raise AlbertineError(f"{file or 'standard input'}: holds no text")
    encoder = load(model, tokenizer=tokenizer)
    start = time.perf_counter()
    with _warnings_as_lines():
        vectors = encoder.encode(
            texts, pooling=pooling, normalize=normalize, batch_size=batch_size, max_length=max_length
        )
    seconds = time.perf_counter() - start
    if out is not None:
        partial = out.with_name(f".{out.name}.partial")
        try:
            with partial.open("wb") as stream:
                np.save(stream, vectors)
            partial.replace(out)
        finally:
            partial.unlink(missing_ok=True)
        size = " × ".join(map(str, vectors.shape))
        print(f"{size} vectors in {seconds:.1f} s → {out}", file=sys.stderr)
        print(f"Next: python -c \"import numpy; print(numpy.load('{out}'))\"", file=sys.stderr)
    if as_json:
        for text, vector in zip(texts, vectors.tolist(), strict=True):
            print(json.dumps({"text": text, "vector": vector}, ensure_ascii=False))


@app.command
def doctor(path: Path | None = None, /, *, as_json: Json = False) -> None:
    """What is installed, what works, and what is wrong with a folder.

    Parameters
    ----------
    path
        A checkpoint to look into.
    """
    from albertine.doctor import examine

    healthy = examine(path, as_json=as_json)
    if not healthy:
        sys.exit(1)


def _standard_input() -> list[str]:
    """Every line of standard input, empty ones included: a line's place is how its answer is found."""
    if sys.stdin.isatty():
        print("reading lines from the terminal; end with Ctrl-D", file=sys.stderr)
    return split_lines(sys.stdin.buffer.read(), "standard input")


@contextmanager
def _warnings_as_lines() -> Generator[None]:
    """Warnings without the line of code that they came from."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = lambda message, *_, **__: print(f"warning: {message}", file=sys.stderr)
        yield
