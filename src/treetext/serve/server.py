"""The server process: socket, model and signals."""

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
    """Serve a model, given by directory or name as in `load_model`, until SIGTERM or Ctrl-C.

    Accepted requests are answered before it stops. Port 0 takes any free port. `say` gets a line with the address at
    the start and a line with counts at the end.
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
            timeout_keep_alive=75,  # longer than proxies keep connections, so that the proxies close them
            timeout_graceful_shutdown=ceil(2 * limits.seconds) + 1,  # to receive and answer open requests
        )
        server = _Server(config, lambda: say(f"Serving {model} at http://{shown}:{bound} (Ctrl-C stops it)"))
        # After a graceful shutdown, uvicorn raises the signal again; this handler keeps the exit status 0.
        signal.signal(signal.SIGTERM, lambda *_: server.stop())
        try:
            server.run([listener])
        finally:
            metrics = app.state.metrics
            say(f"Stopped: {metrics.answered} requests answered, {metrics.gone} abandoned by their clients")


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, started: Callable[[], object]) -> None:
        super().__init__(config)
        self._say_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            await super().startup(sockets)
        except OSError as error:
            raise BadInput(f"{error.strerror}: another process took the port; expected a free port") from None
        self._say_started()

    def stop(self) -> None:
        self.should_exit = True


def _bind(host: str, port: int) -> socket.socket:
    """A bound socket that does not listen yet: until the model is loaded, connections are refused at once."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:  # UnicodeError: a label of the name is empty or too long
        problem = getattr(error, "strerror", None) or "no valid name"
        raise BadInput(f"--host {host}: {problem}; expected a name or an address of this machine") from None
    family, kind, protocol, _, address = min(found, key=lambda each: each[0] != socket.AF_INET)
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
    except OSError as error:
        listener.close()
        raise BadInput(f"--host {host} --port {port}: {error.strerror}; expected a free port (0 takes any)") from None
    return listener
