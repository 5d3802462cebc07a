"""`treetext serve`."""

from typing import Annotated

import typer

from treetext.cli.common import ModelArgument, note, refuse
from treetext.cli.threads import ThreadsOption, use_threads


def serve(
    model: ModelArgument,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for all interfaces.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes any free port.")] = 8000,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Most texts in a batch.")] = 64,
    window: Annotated[
        float, typer.Option(min=0, metavar="MS", help="How long a text waits for others to join its batch.")
    ] = 2,
    queue: Annotated[int, typer.Option(min=1, metavar="N", help="Most waiting texts; more are refused.")] = 512,
    timeout: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Time limit for a request.")] = 30,
    texts: Annotated[int, typer.Option(min=1, metavar="N", help="Most texts in a request.")] = 64,
    words: Annotated[int, typer.Option(min=1, metavar="N", help="Most words in a text.")] = 5000,
    size: Annotated[int, typer.Option(min=1, metavar="BYTES", help="Largest body of a request.")] = 1 << 20,
    threads: ThreadsOption = None,
) -> None:
    """Serve a model over HTTP, with a web page that shows trees.

    POST /v1/predict, /v1/parse and /v1/encode take {"texts": ["…"]} or, for a model of pairs, {"pairs": [["…", "…"]]};
    see /openapi.json. SIGTERM and Ctrl-C stop the server once all accepted requests are answered.
    """
    use_threads(threads)
    from treetext.data import needs

    with needs("serve"):
        from treetext.serve import Limits
        from treetext.serve import serve as serve_model
    if queue < texts:
        refuse(f"--queue {queue}: expected {texts} or more, since a request may have {texts} texts (--texts)")
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
