"""Finds, opens and decodes the files of a corpus. Problems raise `BadInput` with one clear line."""

import codecs
import gzip
import io
import os
import re
import tarfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from typing import NoReturn

from treetext.data.document import BadInput, counted

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
SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods", ".numbers")
NOT_CP1252 = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")


def split_named(name: str) -> str | None:
    """The split in the name of a file, as in ``snli_1.0_train.jsonl``; None if there is none or more than one."""
    named = {SPLITS[part] for part in re.split("[^a-z]+", name.lower()) if part in SPLITS}
    return named.pop() if len(named) == 1 else None


def existing(path: str) -> Path:
    """The path of a file or directory. Raises `BadInput` if it does not exist, or if it is a spreadsheet."""
    place = Path(path).expanduser()
    with reading(path):
        if place.exists():
            if place.suffix.lower() in SPREADSHEETS and place.is_file():
                how = "in your spreadsheet program, save it under another name as CSV (UTF-8), comma delimited"
                raise BadInput(f"{place}: a spreadsheet; expected a CSV file: {how}")
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


def check_encoding(encoding: object) -> str:
    """The name that Python has for an encoding of text. Raises `BadInput` for anything else."""
    try:
        "".encode(str(encoding))  # refuses codecs that are not encodings of text
        return codecs.lookup(str(encoding)).name
    except (LookupError, UnicodeError):
        expected = "expected one that Python has, such as latin-1 or utf-16"
        raise BadInput(f"{encoding!r} is no encoding of text; {expected}") from None


def lines(stream: Iterable[bytes], name: object, encoding: str | None = None) -> Iterator[tuple[int, str]]:
    """The lines of a stream, with their ends, numbered from 1. Only a newline ends a line.

    The encoding of a format without such an option is UTF-8, and messages do not name the option.
    """
    wanted, source, number, foreign = encoding or "utf-8", iter(stream), 0, 0
    with reading(name):
        if wanted.startswith(("utf-16", "utf-32")):  # a byte like that of a newline may be part of a character
            start = b"".join(islice(source, 2))
            try:
                if (likely := _likely(start)) == "utf-8":  # its bytes may also be characters of these encodings
                    raise UnicodeError
                for number, line in enumerate(_wide_lines(chain([start], source), wanted), start=1):
                    yield number, line.removeprefix("\ufeff") if number == 1 else line
            except UnicodeError:
                problem = f"not {wanted}; expected text in that encoding{_instead(likely, wanted)}"
                raise BadInput(f"{name}, line {number + 1}: {problem}") from None
            return
        for number, raw in enumerate(source, start=1):
            if number == 1 and encoding and not wanted.startswith(marked := _marked_encoding(raw) or wanted):
                expected = f"expected {wanted.upper()}, or also --set data.encoding={marked}"
                raise BadInput(f"{name}: looks like {marked}; {expected}")
            try:
                text = raw.decode(wanted)
            except UnicodeError as error:
                at = f" at byte {error.start + 1} of the line" if isinstance(error, UnicodeDecodeError) else ""
                expected = "expected text in that encoding" + _instead(_likely(raw) if encoding else wanted, wanted)
                if encoding == "utf-8":
                    expected = _expected(raw, source, foreign)
                raise BadInput(f"{name}, line {number}: not {wanted.upper()}{at}; {expected}") from None
            foreign += not raw.isascii()
            yield number, text.removeprefix("\ufeff") if number == 1 else text


def filled_lines(
    stream: Iterable[bytes], name: object, notes: list[str], encoding: str | None = None
) -> Iterator[tuple[str, str]]:
    """The place and the text of each line, without its end. Blank lines are left out, and counted in `notes`."""
    blank = 0
    for number, line in lines(stream, name, encoding):
        if line.isspace() or not line:
            blank += 1
        else:
            yield f"{name}, line {number}", line.removesuffix("\n").removesuffix("\r")
    if blank:
        notes.append(f"{name}: {counted(blank, 'blank line')} left out")


def whole(stream: Iterable[bytes], name: object) -> str:
    """The whole text of a small file."""
    return "".join(line for _, line in lines(stream, name))


def _wide_lines(stream: Iterable[bytes], encoding: str) -> Iterator[str]:
    """The lines of text in UTF-16 or UTF-32."""
    rest = ""
    for piece in codecs.iterdecode(stream, encoding):
        *whole_lines, rest = (rest + piece).split("\n")
        yield from (f"{line}\n" for line in whole_lines)
    if rest:
        yield rest


def _marked_encoding(line: bytes) -> str | None:
    """The encoding of a file whose first line has a byte order mark or zeros; None if it has neither."""
    if line.startswith(codecs.BOM_UTF8):
        return "utf-8"
    if line.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    zero = line[:100].find(0)
    return None if zero < 0 else "utf-16-le" if zero % 2 else "utf-16-be"


def _likely(some: bytes) -> str:
    """The encoding that the bytes of some lines look like."""
    with suppress(UnicodeDecodeError):
        return _marked_encoding(some) or (some.decode() and "utf-8")
    return "latin-1" if NOT_CP1252.search(some) else "cp1252"


def _instead(likely: str, wanted: str) -> str:
    return "" if likely == wanted else f", or --set data.encoding={likely}"


def _expected(line: bytes, rest: Iterable[bytes], foreign: int) -> str:
    """What was expected of a file with a line that is not UTF-8, by its other lines."""
    unknown = bool(NOT_CP1252.search(line))
    for other in rest:
        unknown = unknown or bool(NOT_CP1252.search(other))
        with suppress(UnicodeDecodeError):
            foreign += not other.decode().isascii()
    if foreign:
        return f"expected one encoding in the whole file: {foreign:,} other lines have such characters in UTF-8"
    likely = "latin-1" if unknown else "cp1252"
    return f"expected UTF-8, or also --set data.encoding={likely} (Western European), or another encoding"


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
