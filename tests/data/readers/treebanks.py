"""Small treebanks of our own words, written by the tests that read them."""

import gzip


def row(number, word, head, tag="NOUN"):
    return f"{number}\t{word}\t_\t{tag}\t_\t_\t{head}\tdep\t_\t_\n"


def sentence(words, heads, comments=(), tags=None):
    """A sentence in CoNLL-U; heads as the format has them, from 1, and 0 for the root."""
    words = words.split()
    tags = tags or ["NOUN"] * len(words)
    rows = [row(i, *fields) for i, fields in enumerate(zip(words, heads, tags, strict=True), start=1)]
    return "".join(f"# {comment}\n" for comment in comments) + "".join(rows) + "\n"


def unit(number, head, sentence_number, text="some words"):
    """A discourse unit of GUM."""
    return f"{number}\t{text}\t0\t_\t_\tpos1=NN|sid={sentence_number}|stype=decl\t{head}\telaboration_r\t_\t_\n"


def units(*heads_and_sentences):
    return "".join(unit(i, *each) for i, each in enumerate(heads_and_sentences, start=1))


def write(path, text, zipped=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if zipped else text.encode())
    return path


def gum(folder, documents):
    """Documents by their names, each its CoNLL-U and its discourse units, laid out as GUM is."""
    for name, (words, discourse) in documents.items():
        if words is not None:
            write(folder / "dep" / f"{name}.conllu", words)
        if discourse is not None:
            write(folder / "rst" / "dependencies" / f"{name}.rsd", discourse)
    return folder
