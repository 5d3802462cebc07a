"""Small files of our own words in each format, written by the tests that read them."""

import gzip
import io
import tarfile

from treetext.corpora import Data, read


def examples(notes=None, labels=True, **settings):
    return list(read(Data(**settings), notes, labels))


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
