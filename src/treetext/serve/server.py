"""The process: a socket, a model, and what signals do."""

import signal
import socket
from collections.abc import Callable
from math import ceil
from pathlib import Path

import uvicorn

from treetext.data import BadInput
from treetext.models import load_model
from treetext.serve.app import make_app
from treetext.serve.queue import Limits


def serve(
    model: str | Path,
    host: str = "127.0.0.1",
    port: int = 8000,
    limits: Limits | None = None,
    say: Callable[[str], object] = print,
) -> None:
    """Serve the model of a directory, or of a name as `load_model` takes it, until SIGTERM or Ctrl-C.

    What has been accepted by then is answered first. A port of 0 is any that is free; `say` is told which.
    """
    limits = limits or Limits()
    with _bind(host, port) as listener:
        app = make_app(load_model(model), limits)
        shown, bound = f"[{host}]" if ":" in host else host, listener.getsockname()[1]
        config = uvicorn.Config(
            app,
            log_config=None,
            access_log=False,
            lifespan="on",
            ws="none",
            server_header=False,
            timeout_keep_alive=75,  # longer than proxies keep a connection, so that these are the ones to close it
            timeout_graceful_shutdown=ceil(2 * limits.seconds) + 1,  # to receive what has begun, and to answer it
        )
        server = _Server(config, lambda: say(f"Serving {model} at http://{shown}:{bound} (Ctrl-C stops it)"))
        # Uvicorn, once it has ended in good order, sends itself the signal again that it got.
        signal.signal(signal.SIGTERM, lambda *_: server.stop())
        try:
            server.run([listener])
        finally:
            metrics = app.state.metrics
            say(f"Stopped: {metrics.answered} requests answered, {metrics.gone} given up by their clients")


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], object]) -> None:
        super().__init__(config)
        self._say_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except OSError as error:
            raise BadInput(f"{error.strerror}: somebody else was faster; expected a free port") from None
        self._say_started()

    def stop(self) -> None:
        self.should_exit = True


def _bind(host: str, port: int) -> socket.socket:
    """A socket that does not listen yet: until the model is loaded, clients are turned away at once."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise BadInput(f"--host {host}: {error.strerror}; expected a name or an address of this machine") from None
    family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise BadInput(f"--host {host} --port {port}: {error.strerror}; expected a free port (0 takes any)") from None
    return listener
