"""What `treetext serve` refuses to start with; how it serves is tested beside the server."""

import socket

import pytest

from tests.cli.running import invoke, refusal, run
from tests.models.building import documents
from treetext.models import save_model


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    place = tmp_path_factory.mktemp("served") / "model"
    save_model(documents(), place)
    return place


def test_no_model(tmp_path):
    assert "no such directory; expected one with a model" in refusal("serve", tmp_path / "none", "--port", 0)
    assert "config.json: missing" in refusal("serve", tmp_path, "--port", 0)


def test_a_broken_model(small, tmp_path):
    for file in small.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes()[:-1])
    assert str(tmp_path) in refusal("serve", tmp_path, "--port", 0)


def test_port_in_use(small):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = refusal("serve", small, "--port", port)
        assert line == f"--host 127.0.0.1 --port {port}: Address already in use; expected a free port (0 takes any)"
        done = run("serve", small, "--port", port)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.decode() == f"treetext: {line}\n"


@pytest.mark.parametrize("host", ["no.such.host.invalid", "192.0.2.1"])
def test_hosts_that_are_not_here(host, small):
    assert refusal("serve", small, "--port", 0, "--host", host).startswith(f"--host {host}")


def test_a_queue_too_short_for_a_request(small):
    assert refusal("serve", small, "--queue", 5).startswith("--queue 5: expected 64 or more")


def test_values_out_of_range(small):
    for option in (("--port", 70000), ("--batch", 0), ("--timeout", 0)):
        assert option[0] in invoke("serve", small, *option, code=2).stderr
