"""Ways to ask a server: in this process, which is fast, or over sockets, as clients do."""

import asyncio
import json
import re
import signal
import subprocess
from contextlib import asynccontextmanager

from tests.cli.running import command, environment

JSON = {"content-type": "application/json"}


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def json(self):
        return json.loads(self.body)


@asynccontextmanager
async def running(app):
    """An application that is started, with its model ready."""
    async with app.router.lifespan_context(app):
        while (await ask(app, "GET", "/readyz")).status != 200:
            await asyncio.sleep(0.01)
        yield app


async def ask(app, method, path, body=b"", headers=JSON, hang_up=None):
    """One request; `hang_up` is a moment at which the client ends the connection."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    parts = [{"type": "http.request", "body": content, "more_body": False}]
    sent = []

    async def receive():
        if parts:
            return parts.pop()
        await (hang_up or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": b"", "root_path": "", "server": ("test", 80),
        "client": ("test", 1), "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }  # fmt: skip
    await app(scope, receive, send)
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], found, b"".join(message["body"] for message in sent[1:]))


async def metric(app, name):
    text = (await ask(app, "GET", "/metrics")).body.decode()
    return float(re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)[1])


class Server:
    """A server in a process of its own; use it as a context manager."""

    def __init__(self, model, *options):
        self.arguments = ["serve", model, "--port", 0, *options]
        self.answered = 0
        """How many requests it has answered here."""

    def __enter__(self):
        self.process = subprocess.Popen(command(*self.arguments), stderr=subprocess.PIPE, env=environment(), text=True)
        line = self.process.stderr.readline()
        assert line.startswith("Serving "), line + self.process.stderr.read()
        self.port = int(re.search(r":(\d+) ", line)[1])
        asyncio.run(self._until_ready())
        return self

    async def _until_ready(self):
        async with asyncio.timeout(100):
            while (await self.ask("GET", "/readyz")).status != 200:
                await asyncio.sleep(0.05)

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()

    def stop(self):
        """End it in good order; what it said since it started."""
        self.process.send_signal(signal.SIGTERM)
        _, said = self.process.communicate(timeout=60)
        return said

    async def ask(self, method, path, body=b"", headers=JSON):
        """One request on a connection of its own."""
        async with self.connection() as streams:
            return await self.ask_on(*streams, method, path, body, headers)

    @asynccontextmanager
    async def connection(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            yield reader, writer
        finally:
            writer.close()

    async def ask_on(self, reader, writer, method, path, body=b"", headers=JSON):
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "host: test", f"content-length: {len(content)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + content)
        return await self.read(reader)

    async def read(self, reader):
        """The next answer on a connection; nothing where that has ended before it."""
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise
            raise ConnectionResetError from None
        first, *lines = head.decode().removesuffix("\r\n\r\n").split("\r\n")
        headers = dict(line.split(": ", 1) for line in lines)
        body = await reader.readexactly(int(headers["content-length"]))
        self.answered += 1
        return Answer(int(first.split()[1]), headers, body)
