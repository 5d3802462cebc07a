"""`treetext serve`."""

from typing import Annotated

import typer

from treetext.cli.common import ModelArgument, note, refuse


def serve(
    model: ModelArgument,
    host: Annotated[str, typer.Option(help="The address to listen at; 0.0.0.0 for all of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 takes any that is free.")] = 8000,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Texts to run together, at most.")] = 64,
    window: Annotated[float, typer.Option(min=0, metavar="MS", help="How long a text waits for others.")] = 2,
    queue: Annotated[int, typer.Option(min=1, metavar="N", help="Texts that may wait; more are refused.")] = 512,
    timeout: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="When to give a request up.")] = 30,
    texts: Annotated[int, typer.Option(min=1, metavar="N", help="Texts in a request, at most.")] = 64,
    words: Annotated[int, typer.Option(min=1, metavar="N", help="Words in a text, at most.")] = 5000,
    size: Annotated[int, typer.Option(min=1, metavar="BYTES", help="Of the body of a request, at most.")] = 1 << 20,
) -> None:
    """Answer requests over HTTP, and show a page to play with trees.

    POST /v1/predict and /v1/parse take {"texts": ["…"]} or, for a model of pairs, {"pairs": [["…", "…"]]};
    /openapi.json describes all of it. SIGTERM and Ctrl-C end it once all requests that were accepted are answered.
    """
    try:
        from treetext.serve import Limits
        from treetext.serve import serve as serve_model
    except ModuleNotFoundError as error:
        refuse(f"{error.name} is not installed; expected pip install 'treetext[serve]'")
    if queue < texts:
        refuse(f"--queue {queue}: expected {texts} or more, as a request may have so many texts (--texts)")
    limits = Limits(
        bytes=size,
        texts=texts,
        characters=10 * words,
        words=words,
        queue=queue,
        seconds=timeout,
        batch=batch,
        window=window / 1000,
    )
    serve_model(model, host, port, limits, say=note)
