"""How many threads a command takes: as told, as the user's environment says, or as many as there are CPUs for it."""

import os
import socket
import subprocess
import sys

import pytest
import torch

from tests.cli.running import SETTINGS, environment, invoke, refusal
from treetext.cli.threads import cpus
from treetext.models import load_model

MASK = "import os\nos.sched_getaffinity = lambda _: {0, 1, 2}"
"""A mask of three CPUs, whatever machine this is."""
REPORT = "import atexit, sys, torch\natexit.register(lambda: print(torch.get_num_threads(), file=sys.stderr))"


def threads(*arguments, stdin=b"a text\n", before="", **variables):
    """The number of threads that torch has at the end of a command."""
    code = f"{before}\n{REPORT}\nfrom treetext.cli import app\napp({[str(argument) for argument in arguments]!r})"
    inherited = {name: value for name, value in environment().items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", code], input=stdin, capture_output=True, env={**inherited, **variables}, timeout=120
    )
    assert done.returncode == 0, done.stderr.decode()
    return int(done.stderr.split()[-1])


def test_as_told(model):
    assert threads("predict", model, "--threads", 3) == 3
    assert threads("predict", model, "--threads", 3, OMP_NUM_THREADS="5") == 3


def test_the_environment_of_the_user(model):
    assert threads("predict", model, before=MASK, OMP_NUM_THREADS="1") == 1


def test_the_default(model, monkeypatch):
    assert threads("predict", model) == cpus()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    assert threads("predict", model, before=MASK) == cpus()


@pytest.fixture
def _one_thread(monkeypatch):
    """One thread before and after the test, in this process."""
    before = torch.get_num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_one_thread")
def test_every_command_that_computes(model, tmp_path):
    treebank = tmp_path / "trees.conllu"
    treebank.write_text("1\ta\t_\t_\t_\t_\t2\t_\t_\t_\n2\tfilm\t_\t_\t_\t_\t0\troot\t_\t_\n\n")
    few = ["--resamples", 0]
    for arguments in (
        ["train", "hidden-trees/both", "--out", tmp_path / "model", *SETTINGS],
        ["evaluate", model],
        ["predict", model],
        ["parse", model],
        ["encode", model, "--out", tmp_path / "vectors.npy"],
        ["analyse", model, "--no-ablation", *few],
        ["agree", model, treebank, *few],
        ["report", model, "--out", tmp_path / "report.html", "--no-statistics"],
    ):
        torch.set_num_threads(1)
        invoke(*arguments, "--threads", 3, stdin="a text\n")
        assert torch.get_num_threads() == 3, arguments
    assert load_model(tmp_path / "model").about["machine"]["threads"] == 3
    with socket.create_server(("127.0.0.1", 0)) as taken:
        torch.set_num_threads(1)
        refusal("serve", model, "--port", taken.getsockname()[1], "--threads", 3)
        assert torch.get_num_threads() == 3


def groups(root, own, **files):
    """A root directory with the control groups of this process and their files."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(own)
    for name, content in files.items():
        path = root / "sys/fs/cgroup" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


V1 = "5:cpu,cpuacct:/box\n3:memory:/other\n"


@pytest.mark.parametrize(
    ("own", "files", "expected"),
    [
        ("0::/\n", {"cpu.max": "200000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 64),
        ("0::/\n", {"cpu.max": "150000 100000\n"}, 2),
        ("0::/\n", {"cpu.max": "5000 100000\n"}, 1),
        ("0::/\n", {}, 64),
        ("0::/\n", {"cpu.max": "nonsense"}, 64),
        ("0::/a/b\n", {"a/b/cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n"}, 3),
        ("0::/a/b\n", {"a/b/cpu.max": "100000 50000\n", "a/cpu.max": "300000 100000\n"}, 2),
        ("0::/a/b\n", {"c/cpu.max": "100000 50000\n"}, 64),
        (V1, {"cpu/box/cpu.cfs_quota_us": "400000\n", "cpu/box/cpu.cfs_period_us": "100000\n"}, 4),
        (V1, {"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 4),
        (V1, {"cpu/box/cpu.cfs_quota_us": "-1\n", "cpu/box/cpu.cfs_period_us": "100000\n"}, 64),
        (V1, {"cpu/box/cpu.cfs_quota_us": "400000\n"}, 64),
    ],
)
def test_quotas_of_containers(own, files, expected, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    assert cpus(groups(tmp_path, own, **files)) == expected


def test_the_affinity_is_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3})
    assert cpus(groups(tmp_path, "0::/\n", **{"cpu.max": "200000 100000\n"})) == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    assert cpus(tmp_path / "elsewhere") == os.cpu_count(), "where there are no control groups and no masks"
