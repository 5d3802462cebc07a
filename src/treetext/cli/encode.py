"""`treetext encode`: texts in, vectors out, as a stream."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from treetext.cli.common import aside, refuse
from treetext.cli.inputs import File, From, Id, Inputs, ModelOrFile, Name, Reading, Row, Text, chosen, id_text
from treetext.cli.threads import ThreadsOption, use_threads

if TYPE_CHECKING:
    import numpy as np

Add = Callable[[list[Row], "np.ndarray"], None]
"""Adds some texts and their vectors to a file."""
ROWS = 1 << 14
"""The number of texts in a row group of a Parquet file."""


def encode(
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write to this .parquet or .npy file.", show_default=False)],
    model: ModelOrFile = None,
    file: File = None,
    name: Name = None,
    text: Text = None,
    id_column: Id = None,
    kind: From = None,
    settings: Reading = None,
    threads: ThreadsOption = None,
) -> None:
    """Write a vector for each text, composed of its words and sentences.

    The model classifies this vector. N-grams, if it knows any, also decide the label, but are not in the vector.

    A .parquet file has the columns number (of the text, from 1), id (as strings, if the texts have ids) and vector. A
    .npy file has an array with a row for each text, in the order of the texts. Numbers are float32.

    A text without words gets zeros.
    """
    use_threads(threads)
    from treetext.models import load_model

    writer = {".parquet": _parquet, ".npy": _npy}.get(out.suffix.lower())
    if writer is None:
        refuse(f"--out {out}: expected a file that ends with .parquet or .npy")
    where, source = chosen(model, file, name)
    loaded = load_model(where)
    inputs = Inputs(loaded, source, text, kind, id_column, settings)
    inputs.check_out(out)
    size = loaded.encode_tokens([]).shape[1]  # refuses a model without text vectors before a text is read
    with aside(out) as path, writer(path, size) as add:
        for rows, vectors in inputs.run(loaded.encode_tokens, shown=False, empty="vectors of zeros"):
            add(rows, vectors)


@contextmanager
def _npy(path: Path, size: int) -> Iterator[Add]:
    """A NumPy file. Its header, which has the number of rows, is written again at the end, in the same room."""
    import numpy as np

    count = 0

    def write_header() -> None:
        header = {"descr": "<f4", "fortran_order": False, "shape": (count, size)}
        np.lib.format.write_array_header_1_0(stream, header)

    def add(rows: list[Row], vectors: "np.ndarray") -> None:
        nonlocal count
        stream.write(np.ascontiguousarray(vectors, "<f4").tobytes())
        count += len(rows)

    with path.open("wb") as stream:
        write_header()
        yield add
        stream.seek(0)
        write_header()


@contextmanager
def _parquet(path: Path, size: int) -> Iterator[Add]:
    """A Parquet file, written in groups of rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    vector = pa.list_(pa.float32(), size)
    waiting: list[Any] = []
    writer: Any = None

    def add(rows: list[Row], vectors: "np.ndarray") -> None:
        columns: dict[str, Any] = {"number": pa.array([row.number for row in rows], pa.int64())}
        if rows[0].id is not None:
            columns["id"] = pa.array([id_text(row.id) for row in rows], pa.string())
        columns["vector"] = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), type=vector)
        waiting.append(pa.record_batch(columns))
        if sum(batch.num_rows for batch in waiting) >= ROWS:
            write()

    def write() -> None:
        nonlocal writer
        if waiting:
            writer = writer or pq.ParquetWriter(path, waiting[0].schema)
            writer.write_table(pa.Table.from_batches(waiting))
            waiting.clear()

    try:
        yield add
        write()
    finally:
        if writer is not None:
            writer.close()
