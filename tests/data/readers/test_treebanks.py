import json
import tarfile
from itertools import combinations

import pytest

from tests.data.readers.treebanks import gum, row, sentence, unit, units, write
from tests.trees.brute import all_trees
from treetext.data import BadInput, read_treebank
from treetext.data.readers.discourse import joined
from treetext.trees import Tree

RAIN = sentence("Rain falls .", [2, 0, 2], ["sent_id = r-1"], ["NOUN", "VERB", "PUNCT"])
SNOW = sentence("Snow melts", [2, 0], ["sent_id = s-1"])


def trees(treebank):
    return [[list(sentence.tree.heads) for sentence in document.sentences] for document in treebank.documents]


def refused(path, **options):
    with pytest.raises(BadInput) as error:
        read_treebank(path, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("zipped", [False, True])
def test_conllu(tmp_path, zipped):
    text = (
        "# newdoc id = weather\n" + RAIN
        + "# text = We 've wind\n" + "1-2\tWe've" + "\t_" * 8 + "\n" + row(1, "We", 2) + row(2, "'ve", 0)
        + "2.1\tgot" + "\t_" * 8 + "\n" + row(3, "wind", 2) + "\n\n"
        + "# newdoc\n" + SNOW.rstrip("\n")
    )  # fmt: skip
    found = read_treebank(write(tmp_path / "own.conllu", text.replace("\n", "\r\n"), zipped))
    assert (found.name, found.format, found.notes, found.has_documents) == ("own.conllu", "conllu", [], False)
    assert [document.name for document in found.documents] == ["weather", "the document at line 15"]
    assert trees(found) == [[[1, -1, 1], [1, -1, 1]], [[1, -1]]]
    assert [s.name for document in found.documents for s in document.sentences] == ["r-1", "2", "s-1"]
    assert found.documents[0].sentences[1].words == ["We", "'ve", "wind"]
    assert found.documents[0].sentences[0].punctuation == [False, False, True]


def test_sentences_without_documents_stand_alone(tmp_path):
    found = read_treebank(write(tmp_path / "own.conllu", RAIN + SNOW + sentence("Hail", [0])))
    assert [document.name for document in found.documents] == ["r-1", "s-1", "3"]


def test_a_split_of_a_directory(tmp_path):
    for name in ("own-train.conllu", "own-test.conllu.gz", "own-dev.conllu"):
        write(tmp_path / name, RAIN if "test" in name else SNOW, zipped="test" in name)
    assert read_treebank(tmp_path).name == "own-test.conllu"
    assert trees(read_treebank(tmp_path)) == [[[1, -1, 1]]]
    assert trees(read_treebank(tmp_path, split="dev")) == [[[1, -1]]]
    (tmp_path / "own-dev.conllu").unlink()
    assert refused(tmp_path, split="dev").endswith("no dev files; expected one of these splits: test, train")


def test_all_files_of_a_directory_without_splits(tmp_path):
    write(tmp_path / "a.conllu", RAIN)
    write(tmp_path / "b.conllu", SNOW)
    assert read_treebank(tmp_path).name == "a.conllu, b.conllu"
    assert len(read_treebank(tmp_path).documents) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (sentence("a b", [2, 5]), ", line 6, sentence 2: the head of word 2 is 5; expected a word from 1 to 2, or 0"),
        (sentence("a b", [0, 2]), ", line 6, sentence 2: word 2 is its own head; expected another, or 0 for the root"),
        (sentence("a b", [0, 0]), ", line 6, sentence 2: words 1 and 2 are both roots; expected one word with head 0"),
        (sentence("a b", [2, 1]), ", line 5, sentence 2: no root; expected one word with head 0"),
        (
            sentence("a b c d e", [0, 1, 5, 3, 4], ["sent_id = odd"]),
            ", line 8, sentence odd: the heads of words 3, 4, 5 form a cycle; expected a tree",
        ),
        (sentence("a b", ["_", 0]), ", line 5, sentence 2: HEAD is '_'; expected a whole number"),
        (sentence("a b", ["-1", 0]), "HEAD is '-1'; expected a whole number"),
        (sentence("a b", ["9" * 5000, 0]), "expected a whole number"),
        (row(1, "a", 0) + row(3, "b", 1), ", line 6, sentence 2: ID is '3'; expected 2, the next word"),
        (row(1, "", 0), ", line 5, sentence 2: FORM is empty; expected a word"),
        ("1\ta\t0\n", ", line 5: 3 columns; expected the 10 of CoNLL-U, with tabs in between"),
        ("some text\n", ", line 5: 1 column; expected the 10"),
    ],
)
def test_broken_heads(tmp_path, text, message):
    path = write(tmp_path / "own.conllu", sentence("x y z", [2, 0, 2]) + text)
    assert refused(path).startswith(str(path))
    assert message in refused(path)


def test_cycle_below_a_good_part(tmp_path):
    path = write(tmp_path / "own.conllu", sentence("a b c d", [2, 3, 2, 0]))
    assert "line 2, sentence 1: the heads of words 2, 3 form a cycle" in refused(path)


def test_other_bad_files(tmp_path):
    assert refused(tmp_path / "nowhere.conllu").endswith("nowhere.conllu: no such file or directory")
    assert "no sentences; expected CoNLL-U" in refused(write(tmp_path / "empty.conllu", "\n# nothing\n"))
    (tmp_path / "latin.conllu").write_bytes(sentence("für", [0]).encode("latin-1"))
    assert "latin.conllu, line 1: not UTF-8 at byte 4" in refused(tmp_path / "latin.conllu")
    assert "expected one, or format: conllu, gum, snli" in refused(write(tmp_path / "own.txt", RAIN))
    assert trees(read_treebank(tmp_path / "own.txt", "conllu")) == [[[1, -1, 1]]]
    (tmp_path / "cut.conllu").write_bytes(write(tmp_path / "x.gz", RAIN * 9, zipped=True).read_bytes()[:-20])
    assert "truncated or damaged" in refused(tmp_path / "cut.conllu")
    with pytest.raises(BadInput, match=r"^format: expected conllu, gum, snli, got 'penn'"):
        read_treebank(tmp_path / "own.txt", "penn")


def pair(first="(S (NP (NN Rain)) (VP (VBZ falls)) (. .))", second="(NP (NN rain))", label="neutral", **more):
    fields = {"gold_label": label, "sentence1_parse": first, "sentence2_parse": second, **more}
    return json.dumps(fields) + "\n"


def test_snli(tmp_path):
    another = pair("(NP (NN Fog))", "(NP (DT a) (NN dog))")
    path = write(tmp_path / "own_test.jsonl", pair() + pair(label="-") + pair(second="(X a)") + another, True)
    found = read_treebank(path)
    assert (found.format, found.has_documents) == ("snli", False)
    assert trees(found) == [[[1, -1, 1], [-1], [1, -1, 1], [-1]], [[-1], [1, -1]]], (
        "pairs of one premise belong together"
    )
    assert found.documents[0].sentences[0].punctuation == [False, False, True]
    assert [s.name for document in found.documents for s in document.sentences] == [
        "1-1",
        "1-2",
        "3-1",
        "3-2",
        "4-1",
        "4-2",
    ]
    [note] = found.notes
    assert note.endswith("1 pairs without a gold label ('-') left out")


def test_an_archive_beside_a_treebank_is_not_gum(tmp_path):
    write(tmp_path / "own-test.conllu", RAIN)
    (tmp_path / "notes.tar.gz").write_bytes(b"")
    assert read_treebank(tmp_path).format == "conllu"


def test_broken_snli(tmp_path):
    path = tmp_path / "own.jsonl"
    write(path, pair() + pair(second="(NP (NN rain)"))
    assert refused(path) == f"{path}, line 2, sentence2_parse: 1 of the brackets never close; expected a ) for each ("
    write(path, json.dumps({"gold_label": "neutral", "sentence1": "Rain falls.", "sentence2": "Rain."}) + "\n")
    assert f"{path}, line 1: no column called 'sentence1_parse'; expected one" in refused(path)
    write(path, pair(label="-"))
    assert "no pairs; expected SNLI" in refused(path)


WORDS = "".join(sentence("a b", [0, 1], [f"sent_id = own-{i}"]) for i in (1, 2, 3))
DISCOURSE = units((2, 1), (0, 1), (5, 2), (3, 2), (2, 3))


@pytest.mark.parametrize("archived", [False, True])
def test_gum(tmp_path, archived):
    folder = gum(
        tmp_path / "gum", {"GUM_b": (WORDS, DISCOURSE), "GUM_a": (sentence("a b c", [2, 0, 2]), units((0, 1)))}
    )
    if archived:
        archive = tmp_path / "gum.tar.gz"
        with tarfile.open(archive, "w:gz") as stream:
            stream.add(folder, "gum-10")
        folder = archive
    found = read_treebank(folder)
    assert (found.format, found.has_documents) == ("gum", True)
    assert [document.name for document in found.documents] == ["GUM_a", "GUM_b"]
    assert trees(found) == [[[1, -1, 1]], [[-1, 0]] * 3]
    assert [list(document.tree.heads) for document in found.documents] == [[-1], [-1, 2, 0]]


def test_documents_whose_text_is_not_published(tmp_path):
    hidden = sentence("_ _", [0, 1])
    folder = gum(tmp_path, {"GUM_a": (WORDS, DISCOURSE), "GUM_reddit": (hidden, units((0, 1)))})
    found = read_treebank(folder)
    assert [document.name for document in found.documents] == ["GUM_a"]
    assert "1 of 2 documents without their text (_ for each word) left out" in found.notes[0]
    for file in folder.glob("*/**/GUM_a*"):
        file.unlink()
    assert "no document has its text" in refused(folder)


@pytest.mark.parametrize(
    ("discourse", "message"),
    [
        (units((2, 1), (1, 2), (0, 3)), "GUM_a.rsd, line 1, the discourse tree: the heads of units 1, 2 form a cycle"),
        (
            units((0, 1), (9, 2), (1, 3)),
            "line 2, the discourse tree: the head of unit 2 is 9; expected a unit from 1 to 3",
        ),
        (units((0, 1), (1, 2), (0, 3)), "line 3, the discourse tree: units 1 and 3 are both roots"),
        (units((0, 1), (1, 2), (1, 4)), "line 3, the discourse tree: sid is 4; expected 1 to 3, a sentence of dep"),
        (units((0, 1), (1, 3), (1, 3)), "GUM_a.rsd: sentence 2 has no unit; expected one or more for each"),
        (units(("x", 1)), "line 1: head is 'x'; expected a whole number"),
        (unit(2, 0, 1), "line 1: unit '2'; expected 1, the next one"),
        (unit(1, 0, 1).replace("sid=", "id="), "line 1: no sid= in column 6"),
        ("1\tsome words\n", "line 1: 2 columns; expected 8 or more"),
        ("\n", "GUM_a.rsd: no discourse units"),
        (None, "no rst/dependencies file for GUM_a; expected both"),
    ],
)
def test_broken_discourse(tmp_path, discourse, message):
    assert message in refused(gum(tmp_path, {"GUM_a": (WORDS, discourse), "GUM_b": (WORDS, DISCOURSE)}))


def test_other_broken_gum(tmp_path):
    assert "no dep file for GUM_a" in refused(gum(tmp_path / "a", {"GUM_a": (None, DISCOURSE)}))
    folder = gum(tmp_path / "b", {"GUM_a": (WORDS, DISCOURSE)})
    gum(tmp_path / "b" / "copy", {"GUM_a": (WORDS, DISCOURSE)})
    assert "a second file for GUM_a; expected one" in refused(folder)
    write(tmp_path / "c" / "own.conllu", RAIN)
    assert "expected the files dep/*.conllu and rst/dependencies/*.rsd" in refused(tmp_path / "c", format="gum")


def test_joined_units_always_make_a_tree():
    n = 4
    for tree in map(Tree.from_heads, all_trees(n, projective=False, single_root=True)):
        for cuts in (cuts for count in range(n) for cuts in combinations(range(1, n), count)):
            sentences = [sum(cut <= unit for cut in cuts) for unit in range(n)]
            found = joined(tree, sentences)  # which is checked to be a tree
            assert len(found) == len(cuts) + 1
            assert found.root == sentences[tree.root]
            for sentence_, head in enumerate(found.heads):
                outside = {
                    -1 if tree.heads[u] < 0 else sentences[tree.heads[u]]
                    for u in range(n)
                    if sentences[u] == sentence_ and (tree.heads[u] < 0 or sentences[tree.heads[u]] != sentence_)
                }
                assert head in outside, "the head of one of the sentence's own units"
    assert joined(tree, range(n)) == tree


def test_joined_through_the_unit_nearest_to_the_root():
    # Sentence 1 has units 1 and 2; 2 hangs from the root (unit 0), and 1 from unit 3 of sentence 2, further away.
    assert joined(Tree.from_heads([-1, 3, 0, 0]), [0, 1, 1, 2]).heads == (-1, 0, 0)
