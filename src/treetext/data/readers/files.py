"""Finds, opens and decodes the files of a corpus. Problems raise `BadInput` with one clear line."""

import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from treetext.data.document import BadInput

SPLITS = {
    "train": "train",
    "training": "train",
    "dev": "dev",
    "development": "dev",
    "val": "dev",
    "valid": "dev",
    "validation": "dev",
    "test": "test",
}
ARCHIVES = (".tar.gz", ".tgz", ".tar")


def split_named(name: str) -> str | None:
    """The split in the name of a file, as in ``snli_1.0_train.jsonl``; None if there is none or more than one."""
    named = {SPLITS[part] for part in re.split("[^a-z]+", name.lower()) if part in SPLITS}
    return named.pop() if len(named) == 1 else None


def existing(path: str) -> Path:
    """The path of a file or directory. Raises `BadInput` if it does not exist."""
    place = Path(path).expanduser()
    with reading(path):
        if place.exists():
            return place
    raise BadInput(f"{place}: no such file or directory")


def split_files(path: str, ending: str, notes: list[str]) -> list[tuple[str, Path]]:
    """The files of a corpus with their splits: one unsplit file, or files of a directory with splits in their names."""
    place = existing(path)
    if not place.is_dir():
        return [("all", place)]
    with reading(place):
        files = [file for file in sorted(place.iterdir()) if file.is_file() and not file.name.startswith(".")]
    files = [file for file in files if file.name.removesuffix(".gz").endswith(ending)]
    if not files:
        raise BadInput(f"{place}: no such files in it; expected *{ending} or *{ending}.gz, one or more per split")
    for file in files:
        if file.with_name(f"{file.name}.gz") in files:
            raise BadInput(f"{place}: both {file.name} and {file.name}.gz; expected one of the two")
    named = [(split, file) for file in files if (split := split_named(file.name))]
    if not named:
        return [("all", file) for file in files]
    for file in files:
        if not split_named(file.name):
            notes.append(f"{file}: left out, since its name says neither train nor dev nor test")
    if all(split == "train" for split, _ in named):  # there is no test set
        return [("all", file) for _, file in named]
    return named


def corpus_files(path: str, wanted: re.Pattern[str], expected: str) -> list[Path]:
    """The files of a corpus in a directory, or the archive that holds them."""
    place = existing(path)
    if not place.is_dir():
        return [place]
    with reading(place):
        folders = os.walk(place, onerror=_raise, followlinks=True)
        walk = [Path(folder, name) for folder, _, names in folders for name in names]
    files = sorted(file for file in walk if wanted.search(file.as_posix()))
    archives = [file for file in walk if file.parent == place and file.name.endswith(ARCHIVES)]
    if files or len(archives) == 1:
        return files or archives
    raise BadInput(f"{place}: expected {expected}, or one archive of them (.tar.gz)")


def members(files: Sequence[Path], wanted: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, Iterable[bytes]]]:
    """The files of a corpus, one by one, also from archives. Archives are streamed, not extracted to disk."""
    for file in files:
        if match := wanted.search(file.as_posix()):
            with opened(file) as stream:
                yield match, str(file), stream
        else:
            yield from _archived(file, wanted)


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedIOBase]:
    """The bytes of a file, decompressed if it is gzipped, whatever its name."""
    with reading(path), path.open("rb") as stream:
        if stream.peek(2)[:2] == b"\x1f\x8b":
            with gzip.open(stream) as unzipped:
                yield unzipped
        else:
            yield stream


@contextmanager
def reading(name: object) -> Iterator[None]:
    """A context manager that turns errors of reading a file into `BadInput`."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile):
        raise BadInput(f"{name}: truncated or damaged; expected whole gzipped data, so fetch it again") from None
    except tarfile.TarError:
        raise BadInput(f"{name}: not a tar archive, or truncated or damaged; expected a whole .tar.gz") from None
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror or error}; expected a file that can be read") from None


def lines(stream: Iterable[bytes], name: object) -> Iterator[tuple[int, str]]:
    """The lines of a stream, with their ends, numbered from 1. Only a newline ends a line."""
    with reading(name):
        for number, line in enumerate(stream, start=1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                problem = f"not UTF-8 at byte {error.start + 1} of the line; expected text in that encoding"
                raise BadInput(f"{name}, line {number}: {problem}") from None
            yield number, text


def filled_lines(stream: Iterable[bytes], name: object, notes: list[str]) -> Iterator[tuple[str, str]]:
    """The place and the text of each line, without its end. Blank lines are left out, and counted in `notes`."""
    blank = 0
    for number, line in lines(stream, name):
        if line.isspace() or not line:
            blank += 1
        else:
            yield f"{name}, line {number}", line.removesuffix("\n").removesuffix("\r")
    if blank:
        notes.append(f"{name}: {blank} blank line{'s' * (blank > 1)} left out")


def whole(stream: Iterable[bytes], name: object) -> str:
    """The whole text of a small file."""
    return "".join(line for _, line in lines(stream, name))


def _archived(file: Path, wanted: re.Pattern[str]) -> Iterator[tuple[re.Match[str], str, Iterable[bytes]]]:
    with reading(file), tarfile.open(file, "r|*") as archive:
        while (member := archive.next()) is not None:
            archive.members.clear()  # type: ignore[attr-defined]  # the list would grow with every file
            match = wanted.search(member.name)
            if match is None or member.isdir():
                continue
            where = f"{file}, {member.name}"
            stream = archive.extractfile(member) if member.isfile() else None
            if stream is None:
                raise BadInput(f"{where}: a link or a device; expected a file")
            yield match, where, stream


def _raise(error: OSError) -> NoReturn:
    raise error
