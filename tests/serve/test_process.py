"""A real server: signals, sockets, and clients that come and go."""

import asyncio
import signal
import time

from tests.serve.running import Server
from tests.serve.test_queue import make_texts

HEAD = b"POST /v1/predict HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
LONG = " ".join(make_texts(30))


def test_sigterm_answers_all_that_was_accepted(directory):
    """64 clients ask without a pause; in the middle of it, the server is told to end."""
    answers, refused = [], []

    async def client(server, number):
        while True:
            sent = time.monotonic()
            try:
                async with server.connection() as streams:
                    while True:
                        sent = time.monotonic()
                        found = await server.ask_on(*streams, "POST", "/v1/parse", {"texts": [LONG]})
                        answers.append((number, sent, time.monotonic(), found))
            except ConnectionError:
                refused.append((number, sent))
                if server.told:
                    return

    async def run(server):
        clients = [asyncio.create_task(client(server, number)) for number in range(64)]
        while len({number for number, *_ in answers}) < 64:
            await asyncio.sleep(0.01)
        server.told = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(asyncio.gather(*clients), 60)

    with Server(directory, "--queue", 1000) as server:
        server.told = None
        asyncio.run(run(server))
        _, said = server.process.communicate(timeout=60)
    assert server.process.returncode == 0
    assert said == f"Stopped: {server.answered} requests answered, 0 abandoned by their clients\n"
    assert {answer.status for *_, answer in answers} == {200}
    assert all(len(answer.json()["parsed"]) == 1 for *_, answer in answers)
    waiting = [sent for _, sent, received, _ in answers if sent < server.told < received]
    assert len(waiting) >= 32, "many were in the middle"
    assert all(sent > server.told - 0.5 for _, sent in refused), "who came early enough was not refused"


def test_a_body_that_is_too_large_is_refused_before_it_is_sent(server):
    async def run():
        async with server.connection() as (reader, writer):
            writer.write(HEAD + b"content-length: 10000000000\r\n\r\n{")
            declared = await asyncio.wait_for(server.read(reader), 10)
        async with server.connection() as (reader, writer):
            writer.write(HEAD + b"transfer-encoding: chunked\r\n\r\n")
            for _ in range(17):
                writer.write(b"10000\r\n" + b" " * 65536 + b"\r\n")
                await writer.drain()
            return declared, await asyncio.wait_for(server.read(reader), 10)

    for answer in asyncio.run(run()):
        assert answer.status == 413
        assert answer.json()["detail"] == "expected a body of at most 1048576 bytes"


def test_a_client_that_hangs_up_frees_its_place(directory):
    async def run(server):
        texts = {"texts": ["a film"] * 3}
        async with server.connection() as (_, writer):
            writer.write(HEAD + b'content-length: 26\r\n\r\n{"texts": ["a", "b", "c"]}')
            await asyncio.sleep(0.3)
            before = await server.ask("POST", "/v1/predict", texts)
        await asyncio.sleep(0.3)
        return before, await server.ask("POST", "/v1/predict", texts)

    with Server(directory, "--window", 2000, "--queue", 3, "--texts", 3) as server:
        before, after = asyncio.run(run(server))
        assert (before.status, after.status) == (503, 200)
        assert server.stop() == f"Stopped: {server.answered} requests answered, 1 abandoned by their clients\n"


def test_ctrl_c_stops_it(directory):
    with Server(directory) as server:
        server.process.send_signal(signal.SIGINT)
        _, said = server.process.communicate(timeout=60)
    assert said.startswith("Stopped: ")
    assert server.process.returncode == 130, said
