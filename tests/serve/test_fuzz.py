"""Bodies of all kinds: never an error of the server, never a crash."""

import asyncio
import json
import random

from tests.models.building import WORDS
from tests.serve.running import JSON, ask, running
from treetext.serve import make_app

IN_PROCESS, OVER_SOCKETS, AT_ONCE = 10_000, 1_000, 50
PATHS = ("/v1/predict", "/v1/parse", "/v1/encode")
TYPES = ("application/json", "application/json", "application/json", "text/plain", "", "application/json; charset=\xff")
ODD = [
    "\x00", "\ufeff", "\u202e", "\U0001f600", "a\u0300", "\u2028", "<script>", "\t\n", "'; --", "\x7f", "(" * 50,
    "é" * 50, "...", "\r\n\r\n", "http://a.b/c?d=e", "1" * 99,
]  # fmt: skip


def value(chance, depth=0):
    """Some JSON, with things in it that are none."""
    kind = chance.randrange(12 if depth < 4 else 8)
    if kind < 2:
        return json.dumps("".join(chance.choices([*WORDS, " ", " ", ". ", *ODD], k=chance.randrange(12))))
    if kind == 2:
        return '"' + chance.choice(["\\ud800", "\\udc00\\ud800", "\\u00", "\\x", "\\ud83d\\ude00", "a\nb"]) + '"'
    if kind == 3:
        return chance.choice(["NaN", "-Infinity", "1e999", "-0", "0x10", "1" * chance.randrange(1, 9000), "1e-400"])
    if kind < 8:
        return chance.choice(["null", "true", "false", "1", "0.5", '""', "[]", "{}", "undefined", "'a'"])
    if kind < 10:
        return "[" + ",".join(value(chance, depth + 1) for _ in range(chance.randrange(5))) + "]"
    names = ["texts", "pairs", "weights", "top", "texts", "", "a/b", "__class__", "texts\\u0000"]
    return (
        "{" + ",".join(f'"{chance.choice(names)}":{value(chance, depth + 1)}' for _ in range(chance.randrange(4))) + "}"
    )


def body(chance):
    kind = chance.randrange(8)
    if kind == 0:
        return chance.randbytes(chance.randrange(300))
    if kind == 1:
        start, middle, end = chance.choice([("[", "", "]"), ('{"texts":', "1", "}"), ('{"texts":[', "", "]}")])
        deep = chance.choice([10, 150, 250, 20_000])
        return (start * deep + middle + end * chance.choice([deep, 0])).encode()
    texts = ",".join(value(chance, 3) for _ in range(chance.randrange(6)))
    whole = value(chance) if kind == 2 else '{"texts": [' + texts + "]}"
    content = bytearray(whole.encode("utf-8", "surrogatepass"))
    if kind > 5 and content:
        for _ in range(chance.randrange(4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        del content[chance.randrange(len(content) + 1) :][: chance.choice([0, 5])]
    return bytes(content)


def valid(chance):
    """A body that has an answer."""
    return json.dumps({"texts": ["".join(chance.choices([*WORDS, " ", *ODD], k=8)) for _ in range(3)]}).encode()


async def fuzz(request, count, seed):
    """How often which status was answered."""
    chance, statuses = random.Random(seed), dict[int, int]()

    async def one():
        content = valid(chance) if chance.random() < 0.1 else body(chance)
        headers = JSON if chance.random() < 0.9 else {"content-type": chance.choice(TYPES)}
        answer = await request(chance.choice(["POST"] * 9 + ["PUT"]), chance.choice(PATHS), content, headers)
        assert 200 <= answer.status < 500, (answer.status, content)
        found = answer.json()
        if answer.status == 200:
            [results] = found.values()
            assert len(results) == len(json.loads(content)["texts"])
        else:
            assert found["status"] == answer.status
            assert answer.headers["content-type"] == "application/problem+json"
        statuses[answer.status] = statuses.get(answer.status, 0) + 1

    for _ in range(count // AT_ONCE):
        await asyncio.gather(*(one() for _ in range(AT_ONCE)))
    return statuses


def check(statuses, count):
    assert sum(statuses.values()) == count
    assert statuses.keys() == {200, 400, 405, 415, 422}
    assert min(statuses.values()) > count / 200, "all kinds occur often"


def test_ten_thousand_bodies_in_this_process(document_model):
    async def run():
        async with running(make_app(document_model)) as app:
            statuses = await fuzz(lambda *request: ask(app, *request), IN_PROCESS, 0)
            assert (await ask(app, "GET", "/healthz")).status == 200
            return statuses

    check(asyncio.run(run()), IN_PROCESS)


def test_a_thousand_bodies_over_sockets(server):
    check(asyncio.run(fuzz(server.ask, OVER_SOCKETS, 1)), OVER_SOCKETS)


def test_what_is_not_even_http(server):
    async def run():
        chance = random.Random(2)
        for _ in range(100):
            async with server.connection() as (reader, writer):
                start = chance.choice([b"", b"POST /v1/predict HTTP/1.1\r\n"])
                writer.write(start + chance.randbytes(200) + b"\r\n\r\n")
                writer.write_eof()
                await reader.read()
        return await server.ask("GET", "/healthz")

    assert asyncio.run(run()).status == 200
