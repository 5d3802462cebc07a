"""Throughput and latency of `treetext serve`: `make bench-serving` writes its output to docs/serving-speed.md.

Two servers of the same untrained model of the usual sizes, one that runs requests together and one that runs each
alone, are asked in turns over loopback, each client with a connection of its own and one text a request.
"""

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from treetext.data import Vocabulary
from treetext.models import StructuredDocuments, StructuredDocumentsSettings, save_model

VOCABULARY = 30_000
DOCUMENTS = {"short": (2, 12), "long": (20, 17)}  # sentences, and words in each, on average
CLIENTS = (1, 8, 64)
SERVERS = {"batched": [], "alone": ["--batch", "1", "--window", "0"]}
ROUNDS = 4
MEMORY_ROUNDS = 8
WANTED = 3


class Server(NamedTuple):
    process: int
    port: int


class Round(NamedTuple):
    sent: int
    seconds: float
    latencies: list[float]
    """Of the requests that were answered."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5, help="for each round")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    print_header()
    with tempfile.TemporaryDirectory() as folder:
        save_model(make_model(), folder, replace=True)
        with serving(folder, *SERVERS["batched"]) as batched, serving(folder, *SERVERS["alone"]) as alone:
            lost = print_speed({"batched": batched, "alone": alone}, options.seconds)
            lost += print_memory(batched, options.seconds)
    print(f"\nRequests without an answer: {lost}.")


def print_header() -> None:
    info = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in info if "model name" in line), "unknown")
    print("# Serving: throughput and latency\n")
    print(f"- `make bench-serving`, {date.today()}")
    print(f"- {os.cpu_count()} × {cpu}, shared by server and clients, {platform.system()}")
    print(f"- Python {platform.python_version()}, torch {torch.__version__}")
    print(f"- POST /v1/predict, one text a request; wanted: {WANTED} times the throughput at {max(CLIENTS)} clients")


def make_model() -> StructuredDocuments:
    torch.manual_seed(0)
    words = ["<pad>", "<unk>", ".", *(f"w{i}" for i in range(VOCABULARY - 3))]
    return StructuredDocuments(StructuredDocumentsSettings(), list("12345"), vocabulary=Vocabulary(words))


def make_requests(kind: str, count: int = 200, seed: int = 0, prefix: str = "w") -> list[bytes]:
    """Documents of words as frequent as words are (Zipf)."""
    random = np.random.default_rng(seed)
    sentences, words = DOCUMENTS[kind]
    found = []
    for _ in range(count):
        lengths = np.clip(random.gamma(2.5, words / 2.5, 1 + random.poisson(sentences - 1)).astype(int), 1, 100)
        ranks = [np.exp(random.random(n) * np.log(VOCABULARY - 3)).astype(int) for n in lengths]
        text = " ".join(" ".join(f"{prefix}{i}" for i in sentence) + "." for sentence in ranks)
        body = json.dumps({"texts": [text]}).encode()
        head = f"POST /v1/predict HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        found.append(head.encode() + b"\r\n\r\n" + body)
    return found


@contextmanager
def serving(model: str, *options: str) -> Iterator[Server]:
    command = [sys.executable, "-m", "treetext", "serve", model, "--port", "0", *options]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        line = process.stderr.readline()
        server = Server(process.pid, int(line.split(" (")[0].rpartition(":")[2]))
        asyncio.run(until_ready(server.port))
        yield server
    finally:
        process.terminate()
        process.communicate(timeout=60)


async def until_ready(port: int) -> None:
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        status = await reader.readline()
        writer.close()
        if b" 200 " in status:
            return
        await asyncio.sleep(0.2)


def print_speed(servers: dict[str, Server], seconds: float) -> int:
    columns = ("documents", "clients", "server", "requests/s", "times", "p50, ms", "p99, ms")
    print("\n| " + " | ".join(columns) + " |\n| --- |" + " ---: |" * (len(columns) - 1))
    lost = 0
    for kind in DOCUMENTS:
        requests = make_requests(kind)
        for clients in CLIENTS:
            found: dict[str, list[Round]] = {name: [] for name in servers}
            for turn in range(1 + ROUNDS):  # the first is for warming up
                for name, server in servers.items():
                    done = asyncio.run(ask(server.port, requests, clients, seconds if turn else min(1, seconds)))
                    found[name] += [done] if turn else []
                    lost += done.sent - len(done.latencies)
            speeds = {name: speed(rounds) for name, rounds in found.items()}
            for name, rounds in found.items():
                latencies = np.concatenate([done.latencies for done in rounds]) * 1000
                times = f"{speeds[name] / speeds['alone']:.1f}"
                p50, p99 = np.quantile(latencies, [0.5, 0.99])
                row = (kind, clients, name, f"{speeds[name]:.0f}", times, f"{p50:.1f}", f"{p99:.1f}")
                print("| " + " | ".join(map(str, row)) + " |")
    return lost


def print_memory(server: Server, seconds: float) -> int:
    """After all of the above, the memory of the server that batches, round by round, with words it has never seen."""
    lost, found = 0, []
    for turn in range(MEMORY_ROUNDS):
        requests = [request for kind in DOCUMENTS for request in make_requests(kind, seed=1 + turn, prefix=f"x{turn}x")]
        done = asyncio.run(ask(server.port, requests, max(CLIENTS), seconds))
        lost += done.sent - len(done.latencies)
        found.append(resident(server.process))
    print(f"\nMemory after each of {MEMORY_ROUNDS} more rounds at {max(CLIENTS)} clients, short and long documents,")
    print("each round of other words, in MiB: " + ", ".join(f"{size:.0f}" for size in found) + ".")
    return lost


def speed(rounds: list[Round]) -> float:
    return sum(len(done.latencies) for done in rounds) / sum(done.seconds for done in rounds)


async def ask(port: int, requests: list[bytes], clients: int, seconds: float) -> Round:
    latencies: list[float] = []
    sent = 0
    start = time.perf_counter()

    async def client(number: int) -> None:
        nonlocal sent
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        at = number * 7
        while time.perf_counter() < start + seconds:
            began = time.perf_counter()
            sent, at = sent + 1, at + 1
            writer.write(requests[at % len(requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            assert head.startswith(b"HTTP/1.1 200 "), head
            latencies.append(time.perf_counter() - began)
        writer.close()

    await asyncio.gather(*map(client, range(clients)))
    return Round(sent, time.perf_counter() - start, latencies)


def resident(process: int) -> float:
    """The memory of a process in MiB."""
    [line] = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
