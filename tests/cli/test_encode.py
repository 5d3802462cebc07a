"""Vectors of texts in files."""

import json
from importlib import import_module

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cli.running import invoke, options, refusal
from tests.cli.test_texts import LINES, TEXTS
from treetext.models import load_model


def test_vectors_are_those_of_the_model_in_the_order_of_the_texts(model, tmp_path):
    expected = load_model(model).encode(TEXTS)
    done = invoke("encode", model, "--out", tmp_path / "vectors.npy", stdin=LINES)
    assert (done.stdout, done.stderr) == ("", "1 of 4 texts without words: vectors of zeros\n")
    found = np.load(tmp_path / "vectors.npy")
    assert (found.dtype, found.shape) == (np.float32, expected.shape)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert not found[1].any()
    invoke("encode", "--model", model, "--out", tmp_path / "vectors.PARQUET", stdin=LINES)
    table = pq.read_table(tmp_path / "vectors.PARQUET")
    assert table.schema.equals(
        pa.schema({"number": pa.int64(), "vector": pa.list_(pa.float32(), expected.shape[1])}), check_metadata=False
    )
    assert table["number"].to_pylist() == [1, 2, 3, 4]
    assert np.array_equal(np.stack(table["vector"].to_pylist()).astype(np.float32), found)


def test_many_texts_in_groups(model, tmp_path, monkeypatch):
    """More than are in memory at once; the header of an array has room for the number."""
    monkeypatch.setattr(import_module("treetext.cli.encode"), "ROWS", 500)
    texts = [" ".join(["word"] * (1 + i * 37 % 11)) for i in range(1300)]
    for ending in ("npy", "parquet"):
        invoke("encode", model, "--out", tmp_path / f"vectors.{ending}", stdin="\n".join(texts))
    found = np.load(tmp_path / "vectors.npy", mmap_mode="r")
    np.testing.assert_allclose(found, load_model(model).encode(texts), atol=1e-5)
    file = pq.ParquetFile(tmp_path / "vectors.parquet")
    assert [file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)] == [512, 512, 276]
    table = file.read()
    assert table["number"].to_pylist() == list(range(1, 1301))
    assert np.array_equal(np.stack(table["vector"].to_pylist()).astype(np.float32), found)


def test_ids_are_kept(model, tmp_path):
    rows = [{"id": 7, "key": {"a": "é"}, "text": "some"}, {"id": None, "key": [], "text": "text"}]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "vectors.parquet"
    invoke("encode", model, tmp_path / "texts.jsonl", "--out", out)
    table = pq.read_table(out)
    assert table.column_names == ["number", "id", "vector"]
    assert table["id"].to_pylist() == ["7", ""]
    invoke("encode", model, tmp_path / "texts.jsonl", "--id", "key", "--out", out)
    assert pq.read_table(out)["id"].to_pylist() == ['{"a": "é"}', "[]"]


def test_pairs(pair_model, tmp_path):
    invoke("encode", pair_model, "--out", tmp_path / "vectors.npy", stdin="the a sleeps\ta b sleeps\nonly one\t\n")
    found = np.load(tmp_path / "vectors.npy")
    np.testing.assert_allclose(found[:1], load_model(pair_model).encode([("the a sleeps", "a b sleeps")]), atol=1e-6)
    assert not found[1].any()


@pytest.mark.parametrize("ending", ["npy", "parquet"])
def test_nothing_half_written_stays(ending, model, tmp_path):
    out, bad = tmp_path / f"vectors.{ending}", tmp_path / "bad.txt"
    bad.write_bytes(b"fine\n" * 300 + b"\xff\n")
    assert "bad.txt, line 301: not UTF-8" in refusal("encode", model, bad, "--out", out)
    assert [path.name for path in tmp_path.iterdir()] == ["bad.txt"]
    out.write_bytes(b"older")
    assert "bad.txt, line 301: not UTF-8" in refusal("encode", model, bad, "--out", out)
    assert out.read_bytes() == b"older"
    assert refusal("encode", model, "--out", out, stdin="") == "standard input: empty; expected at least one text"
    assert out.read_bytes() == b"older"
    assert len(list(tmp_path.iterdir())) == 2


def test_refusals(model, reviews, tmp_path):
    out = tmp_path / "vectors.txt"
    expected = f"--out {out}: expected a file that ends with .parquet or .npy"
    assert refusal("encode", model, "--out", out, stdin="a") == expected
    assert "missing option '--out'" in refusal("encode", model, stdin="a")
    table = tmp_path / "texts.parquet"
    pq.write_table(pa.table({"text": ["a"]}), table)
    assert refusal("encode", model, table, "--out", table).startswith(f"--out {table}: the file of the texts")
    assert "no: no such directory" in refusal("encode", model, "--out", tmp_path / "no" / "a.npy", stdin="a")
    majority = tmp_path / "majority"
    columns = options({"data.text": "review", "data.label": "stars"})
    invoke("train", "documents/majority", "--data", reviews, "--out", majority, *columns)
    assert refusal("encode", majority, "--out", tmp_path / "a.npy", stdin="a") == (
        "majority: a model without text vectors; expected one that has them, such as structured-documents"
    )
