"""A server on a thread, and a browser that looks at its page."""

import threading
import time
from contextlib import contextmanager
from urllib.error import HTTPError
from urllib.request import urlopen

import uvicorn

from tests.show.browser import wait
from treetext.serve import make_app

TEXT = "A good film. I saw it, and the dog was not very bad. The plot slept."
SHOWN = "#result:not([hidden])"


@contextmanager
def serving(model, limits=None, port=0):
    """The address of a server, on a thread of its own."""
    app = make_app(model, limits)
    server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, lifespan="on", ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        address = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
        while not is_ready(address):
            time.sleep(0.01)
        yield address
    finally:
        server.should_exit = True
        thread.join()


def is_ready(address):
    try:
        with urlopen(f"{address}readyz"):
            return True
    except HTTPError as error:
        error.close()
        return False


def show(page, text=TEXT):
    page.fill("textarea", text)
    page.click("#submit")
    answered(page)


def answered(page):
    wait(page, "document.getElementById('status').textContent.includes(' word')")
