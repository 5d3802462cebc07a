"""Small files of our own words in each format, written by the tests that read them."""

import csv
import gzip
import io
import json
import tarfile

from treetext.data import reader

ROWS = [("Tea is hot.", "good"), ('She said "no",\nand left.', "bad"), ("", "bad"), ("čaj", "42")]


def examples(notes=None, labels=True, **settings):
    return list(reader(**settings).read(notes, labels))


def texts(**settings):
    return [(split, example.text, example.label) for split, example in examples(**settings)]


def write(path, content, zipped=False):
    """Write text or bytes, and return the path as a string, as in a recipe."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(content, mtime=0) if zipped else content)
    return str(path)


def write_corpus(path, files, archived=False):
    """Write files given by their names into a directory, or into a gzipped archive."""
    if not archived:
        for name, content in files.items():
            write(path / name, content)
        return str(path)
    archive = path.with_name(f"{path.name}.tar.gz")
    with tarfile.open(archive, "w:gz") as stream:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content.encode())
            stream.addfile(member, io.BytesIO(content.encode()))
    return str(archive)


def write_rows(path, rows=ROWS, columns=("text", "label")):
    """The same rows in the format that the name of the path ends with."""
    import pyarrow
    import pyarrow.parquet

    kind = path.suffix[1:]
    if kind == "parquet":
        table = pyarrow.table({name: [row[i] for row in rows] for i, name in enumerate(columns)})
        pyarrow.parquet.write_table(table, path)
    elif kind == "jsonl":
        write(path, "".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    else:
        with path.open("w", newline="") as stream:
            writer = csv.writer(stream, delimiter={"csv": ",", "tsv": "\t"}[kind])
            writer.writerows([columns, *rows])
    return str(path)
