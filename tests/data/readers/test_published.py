"""The formats of the paper's data sets, on small corpora in our own words."""

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.data.readers.writing import examples, texts, write, write_corpus
from treetext.data import PAIRS, BadInput, encode, reader

DEBATES = {
    "README.txt": "not a speech",
    "data_stage_three/training_set/001_400001_0002003_DMN.txt": "no , thank you .  ",
    "data_stage_three/training_set/001_400001_0002001_DMN.txt": "the tea is cold .  it was hot .  ",
    "data_stage_three/training_set/001_400002_0002002_RON.txt": "pour it out .  ",
    "data_stage_three/training_set/002_400001_0009001_DMY.txt": "yes .  ",
    "data_stage_three/development_set/003_400001_0001001_DMY.txt": "more tea !  ",
    "data_stage_three/test_set/004_400001_0001001_DMN.txt": "less tea .  ",
    "data_stage_one/training_set/001_400001_0002001_DMN.txt": "raw text of another stage",
}
REVIEWS = {
    "aclImdb/README": "not a review",
    "aclImdb/train/urls_pos.txt": "not a review either",
    "aclImdb/train/pos/0_9.txt": "Warm.<br /><br />Very warm.",
    "aclImdb/train/neg/0_1.txt": "Cold.",
    "aclImdb/train/unsup/0_0.txt": "Who knows?",
    "aclImdb/test/pos/0_10.txt": "Hot!",
    "aclImdb/test/neg/1_4.txt": "",
}


@pytest.mark.parametrize("archived", [False, True])
def test_convote_joins_the_segments_of_a_speaker_on_a_bill_in_page_order(tmp_path, archived):
    notes = []
    path = write_corpus(tmp_path / "convote", DEBATES, archived)
    found = examples(notes, format="convote", path=path)
    assert sorted((split, example.text, example.label) for split, example in found) == [
        ("dev", [["more", "tea", "!"]], "Y"),
        ("test", [["less", "tea", "."]], "N"),
        ("train", [["pour", "it", "out", "."]], "N"),
        (
            "train",
            [["the", "tea", "is", "cold", "."], ["it", "was", "hot", "."], ["no", ",", "thank", "you", "."]],
            "N",
        ),
        ("train", [["yes", "."]], "Y"),
    ]
    assert notes == ["6 segments joined to 5 documents, by bill and speaker"]
    assert all("_set/" in example.where for _, example in found)


def test_convote_may_start_at_the_stage_and_be_gzipped(tmp_path):
    for name, speech in DEBATES.items():
        if "three" in name:
            write(tmp_path / f"{name}.gz", speech, zipped=True)
    assert len(examples(format="convote", path=str(tmp_path / "data_stage_three"))) == 5


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("training_set/001_400001_DMN.txt", "001_400001_DMN.txt: expected a name like BILL_SPEAKER_PAGE_PMV.txt"),
        ("training_set/001_400001_0002009_DMY.txt", "votes both Y and N on one bill; expected one vote"),
    ],
)
def test_convote_refuses_odd_files(tmp_path, name, complaint):
    path = write_corpus(tmp_path, {**DEBATES, f"data_stage_three/{name}": "tea ."})
    with pytest.raises(BadInput, match=complaint):
        examples(format="convote", path=path)


@pytest.mark.parametrize("archived", [False, True])
def test_aclimdb_has_ratings_and_no_markup(tmp_path, archived):
    notes = []
    path = write_corpus(tmp_path / "imdb", REVIEWS, archived)
    assert sorted(texts(format="aclimdb", path=path, notes=notes)) == [
        ("test", "", "4"),
        ("test", "Hot!", "10"),
        ("train", "Cold.", "1"),
        ("train", "Warm.\n\nVery warm.", "9"),
    ]
    assert notes == ["1 reviews without a rating (unsup) left out"]


def test_classes_rename_labels(tmp_path):
    path = write_corpus(tmp_path, REVIEWS)
    classes = {rating: "bad" if int(rating) < 5 else "good" for rating in ("1", "4", "9", "10")}
    assert {label for _, _, label in texts(format="aclimdb", path=path, classes=classes)} == {"bad", "good"}
    del classes["9"]
    with pytest.raises(BadInput, match=r"0_9.txt: label '9' is not among the classes; expected one of '1', '4', '10'$"):
        examples(format="aclimdb", path=path, classes=classes)


@pytest.mark.parametrize("archived", [False, True])
def test_csfd_ratings(tmp_path, archived):
    files = {"0.txt": "0 , Studený čaj, fuj.\n", "5.txt": "5 , Horký\u2028čaj!\r\n5 , \n\n"}
    path, notes = write_corpus(tmp_path / "csfd", files, archived), []
    assert texts(format="csfd", path=path, notes=notes, language="cs") == [
        ("all", "Studený čaj, fuj.", "0"),
        ("all", "Horký\u2028čaj!", "5"),
        ("all", "", "5"),
    ]
    [note] = notes
    assert note.endswith("5.txt: 1 blank line left out")


def test_csfd_classes(tmp_path):
    path = write_corpus(
        tmp_path, {"positive.txt": "3 , šálky\nDobrý.\n", "neutral.txt": "Čaj.\n", "negative.txt": "Ne."}
    )
    assert sorted(texts(format="csfd", path=path)) == [
        ("all", "3 , šálky", "positive"),
        ("all", "Dobrý.", "positive"),
        ("all", "Ne.", "negative"),
        ("all", "Čaj.", "neutral"),
    ]


@pytest.mark.parametrize("line", ["4 , Čaj.", "Čaj.", "5 Čaj."])
def test_csfd_refuses_a_line_with_another_rating(tmp_path, line):
    path = write_corpus(tmp_path, {"5.txt": f"5 , Ano.\n{line}\n"})
    with pytest.raises(BadInput, match=r"5.txt, line 2: expected '5 , text', since the file is called 5$"):
        examples(format="csfd", path=path)


def pair(first="Tea is hot.", second="Tea is warm.", label="entailment"):
    return json.dumps({"gold_label": label, "sentence1": first, "sentence2": second, "captionID": "1"}) + "\n"


@pytest.mark.parametrize("zipped", [False, True])
def test_snli_leaves_out_what_annotators_disagreed_on(tmp_path, zipped):
    suffix = ".gz" if zipped else ""
    write(tmp_path / f"snli_1.0_train.jsonl{suffix}", pair() + pair(label="-") + pair(label="-"), zipped)
    write(tmp_path / f"snli_1.0_train_more.jsonl{suffix}", pair(second="Tea is cold.", label="contradiction"), zipped)
    write(tmp_path / f"snli_1.0_dev.jsonl{suffix}", pair(), zipped)
    write(tmp_path / f"snli_1.0_test.jsonl{suffix}", pair(label="neutral"), zipped)
    write(tmp_path / "snli_1.0_test.txt", "the same in another format")
    write(tmp_path / "._snli_1.0_test.jsonl", b"\0\5")
    notes, settings = [], {"format": "snli", "path": str(tmp_path)}
    assert sorted(texts(**settings, notes=notes)) == [
        ("dev", ["Tea is hot.", "Tea is warm."], "entailment"),
        ("test", ["Tea is hot.", "Tea is warm."], "neutral"),
        ("train", ["Tea is hot.", "Tea is cold."], "contradiction"),
        ("train", ["Tea is hot.", "Tea is warm."], "entailment"),
    ]
    assert notes == [f"{tmp_path}/snli_1.0_train.jsonl{suffix}: 2 pairs without a gold label ('-') left out"]
    assert len(examples(labels=False, **settings)) == 6
    assert reader(**settings).task is PAIRS


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not JSON: Expecting property name"),
        ("[" * 100_000, "not JSON: "),
        ('{"sentence1": "a", "sentence2": "b"}', "no column called 'gold_label'; expected one, and there are 'sent"),
        ('{"sentence1": "a", "sentence2": 3, "gold_label": "neutral"}', "'sentence2': expected a string"),
    ],
)
def test_snli_refuses_other_lines(tmp_path, line, complaint):
    path = write(tmp_path / "train.jsonl", pair() + line)
    with pytest.raises(BadInput, match=f"train.jsonl, line 2[:,] {complaint}"):
        examples(format="snli", train=path)


def test_snli_refuses_half_a_surrogate_pair(tmp_path):
    path = write(tmp_path / "train.jsonl", pair() + pair(first="tea \ud83c"))
    with pytest.raises(BadInput, match=r"line 2: \\ud83c is half a surrogate pair; expected whole characters$"):
        examples(format="snli", train=path)


def parsed_pair(first, second, label="entailment"):
    fields = {"gold_label": label, "sentence1_binary_parse": first, "sentence2_binary_parse": second}
    return json.dumps(fields) + "\n"


def test_snli_parses(tmp_path):
    lines = [
        parsed_pair("( ( Hot tea ) ( is ( here . ) ) )", "Tea"),
        parsed_pair("( a b )", "c", label="-"),
        parsed_pair("( 1\u00a01/2 cups )", "( ( -LRB- ( one -RRB- ) ) ! )", label="neutral"),
    ]
    notes, data = [], reader("snli-parses", path=write(tmp_path / "own_test.jsonl", "".join(lines)))
    assert data.task is PAIRS
    (_, first), (_, second) = data.read(notes)
    assert (first.text, first.label) == ([["Hot", "tea", "is", "here", "."], ["Tea"]], "entailment")
    assert first.parses == [[0, 0, 1, 0, 0, 0, 1, 1, 1], [0]]
    assert second.text == [["1\u00a01/2", "cups"], ["-LRB-", "one", "-RRB-", "!"]], "no space within a word cuts it"
    assert second.parses == [[0, 0, 1], [0, 0, 0, 1, 1, 0, 1]]
    assert notes == [f"{data.path}: 1 pairs without a gold label ('-') left out"]
    encoded = encode(data.read(), data.tokenizer, tmp_path / "own.arrow")
    assert encoded.document(0) == [["hot", "tea", "is", "here", "."], ["tea"]]
    assert encoded.parses(0).tolist() == [0, 0, 1, 0, 0, 0, 1, 1, 1, 0]


def test_snli_parses_without_words_are_no_sentences(tmp_path):
    data = reader("snli-parses", path=write(tmp_path / "own.jsonl", parsed_pair("( a b )", "") + parsed_pair("c", "d")))
    encoded = encode(data.read(), data.tokenizer, tmp_path / "own.arrow")
    assert encoded.document(0) == [["a", "b"]]
    assert [encoded.parses(row).tolist() for row in (0, 1)] == [[0, 0, 1], [0, 0]]


@pytest.mark.parametrize("parse", ["( a b", "a b", "( a )", "( a b c )", "a ) b )", "( ( a b ) )", ")"])
def test_a_broken_parse_is_refused_with_its_line(tmp_path, parse):
    path = write(tmp_path / "own.jsonl", parsed_pair("( a b )", "c") + parsed_pair("c", parse))
    data = reader("snli-parses", path=path)
    with pytest.raises(BadInput, match=rf"^{path}, line 2: parses[^\n]*expected") as caught:
        encode(data.read(), data.tokenizer, tmp_path / "own.arrow")
    assert parse == ")" or "no binary parse of" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (pair(), "no column called 'sentence1_binary_parse'; expected one"),
        (parsed_pair(["a", "b"], ["c"]), "expected binary parses as strings"),
    ],
)
def test_snli_without_parses(tmp_path, line, complaint):
    path = write(tmp_path / "own.jsonl", parsed_pair("( a b )", "c") + line)
    with pytest.raises(BadInput, match=rf"^{path}, line 2: {complaint}"):
        examples(format="snli-parses", path=path)


def test_ss(tmp_path):
    for split in ("train", "dev", "test"):
        rows = f"u1\t\tp1\t\t5\t\tHot {split} . <sssss>  Very good tea .\r\nu2\t\tp1\t\t1\t\t\n"
        write(tmp_path / f"teas-seg-20-20.{split}.ss", rows)
    found = texts(format="ss", path=str(tmp_path))
    assert found[4:] == [
        ("train", [["Hot", "train", "."], ["Very", "good", "tea", "."]], "5"),
        ("train", [], "1"),
    ]
    assert [split for split, _, _ in found] == ["dev", "dev", "test", "test", "train", "train"]


@pytest.mark.parametrize(
    ("line", "fields"), [("u\t\tp\t\t5", "3 fields"), ("u\tp\t5\ttea", "1 field"), ("u\t\t" * 5, "6 f")]
)
def test_ss_refuses_other_numbers_of_fields(tmp_path, line, fields):
    path = write(tmp_path / "teas.ss", f"u\t\tp\t\t5\t\ttea\n{line}\n")
    with pytest.raises(BadInput, match=rf"teas.ss, line 2: {fields}.*; expected 4, user, product, rating and text"):
        examples(format="ss", path=path)


def test_split_format_of_the_authors(tmp_path):
    write(tmp_path / "teas.train", "2<split1>cold tea .<split2> oh no !\n0<split1>\n")
    write(tmp_path / "teas.test", "1<split1>tea .\n")
    assert texts(format="split", path=str(tmp_path)) == [
        ("test", [["tea", "."]], "1"),
        ("train", [["cold", "tea", "."], ["oh", "no", "!"]], "2"),
        ("train", [], "0"),
    ]


@pytest.mark.parametrize(("line", "times"), [("tea", 0), ("1<split1>tea<split1>tea", 2)])
def test_split_format_refuses_other_lines(tmp_path, line, times):
    path = write(tmp_path / "teas.train", f"{line}\n")
    with pytest.raises(BadInput, match=rf"teas.train, line 1: {times} times <split1>; expected it once"):
        examples(format="split", train=path)


def test_a_row_without_a_label_is_named(tmp_path):
    path = write(tmp_path / "teas.ss", "u\t\tp\t\t5\t\ttea\nu\t\tp\t\t \t\ttea\n")
    with pytest.raises(BadInput, match=r"teas.ss, line 2: no label; expected one for each text$"):
        examples(format="ss", path=path)
    assert texts(format="ss", path=path, labels=False) == [("all", [["tea"]], None)] * 2


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("convote", "expected training_set, development_set and test_set with files like BILL_SPEAKER_PAGE_PMV.txt"),
        ("aclimdb", "expected train/pos, train/neg, test/pos and test/neg with files like ID_RATING.txt"),
        ("csfd", "expected 0.txt to 5.txt, or positive.txt, negative.txt and neutral.txt"),
        ("snli", r"no such files in it; expected \*.jsonl or \*.jsonl.gz, one or more per split"),
        ("ss", r"no such files in it; expected \*.ss or \*.ss.gz, one or more per split"),
    ],
)
def test_a_place_without_the_expected_files(tmp_path, kind, expected):
    path = write_corpus(tmp_path / "other", {"notes/tea.txt": "Tea."})
    with pytest.raises(BadInput, match=f"^{path}: {expected}"):
        examples(format=kind, path=path)
    with pytest.raises(BadInput, match=f"^{path}/none: no such file or directory$"):
        reader(kind, path=f"{path}/none").fingerprint()
    if kind in ("convote", "aclimdb", "csfd"):
        archive = write_corpus(tmp_path / "other", {"notes/tea.txt": "Tea."}, archived=True)
        with pytest.raises(BadInput, match=f"^{archive}: {expected}"):
            examples(format=kind, path=archive)


@pytest.mark.parametrize("kind", ["convote", "aclimdb", "csfd"])
@pytest.mark.parametrize("content", [b"", b"tea", gzip.compress(b"tea", mtime=0), b"\x1f\x8btea"])
def test_a_file_that_is_no_archive(tmp_path, kind, content):
    path = write(tmp_path / "teas.tar.gz", content)
    with pytest.raises(BadInput, match=rf"^{path}: .*(not a tar archive|truncated or damaged).*; expected [^\n]*$"):
        examples(format=kind, path=path)


@pytest.mark.parametrize("zipped", [False, True])
def test_a_truncated_archive(tmp_path, zipped):
    path = Path(
        write_corpus(tmp_path / "imdb", {**REVIEWS, "aclImdb/test/neg/2_1.txt": "tea " * 100_000}, archived=True)
    )
    content = path.read_bytes() if zipped else gzip.decompress(path.read_bytes())
    path.write_bytes(content[: len(content) * 2 // 3])
    with pytest.raises(BadInput, match=rf"^{path}.*: .*truncated or damaged; expected[^\n]*$"):
        examples(format="aclimdb", path=str(path))


def test_archives_are_never_extracted(tmp_path, monkeypatch):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "deep" / "er")
    files = {"../../train/pos/0_9.txt": "Warm.", f"{tmp_path}/train/neg/0_1.txt": "Cold.", "train/pos/1_7.txt": "Tea."}
    path = write_corpus(tmp_path / "imdb", files, archived=True)
    assert [text for _, text, _ in texts(format="aclimdb", path=path)] == ["Warm.", "Cold.", "Tea."]
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["deep", "er", "imdb.tar.gz"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_in_archives_are_refused(tmp_path, kind):
    archive = tmp_path / "imdb.tar"
    with tarfile.open(archive, "w") as stream:
        member = tarfile.TarInfo("aclImdb/train/pos/0_9.txt")
        member.type, member.linkname = kind, "/etc/hostname"
        stream.addfile(member, io.BytesIO())
    with pytest.raises(BadInput, match=r"imdb.tar, aclImdb/train/pos/0_9.txt: a link or a device; expected a file$"):
        examples(format="aclimdb", path=str(archive))


def test_bytes_in_an_archive_that_are_not_utf8(tmp_path):
    archive = tmp_path / "csfd.tar"
    with tarfile.open(archive, "w") as stream:
        member, content = tarfile.TarInfo("csfd/3.txt"), "3 , Ano.\n3 , Čaj.\n".encode("cp1250")
        member.size = len(content)
        stream.addfile(member, io.BytesIO(content))
    with pytest.raises(BadInput, match=r"csfd.tar, csfd/3.txt, line 2: not UTF-8 at byte 5 of the line; expected text"):
        examples(format="csfd", path=str(archive))


def test_linked_directories_are_read(tmp_path):
    write_corpus(tmp_path / "elsewhere", REVIEWS)
    (tmp_path / "imdb").mkdir()
    (tmp_path / "imdb" / "train").symlink_to(tmp_path / "elsewhere" / "aclImdb" / "train")
    assert len(examples(format="aclimdb", path=str(tmp_path / "imdb"))) == 2


def test_a_directory_that_holds_the_archive(tmp_path):
    write_corpus(tmp_path / "imdb", REVIEWS, archived=True)
    assert len(examples(format="aclimdb", path=str(tmp_path))) == 4


def test_other_files_of_a_model_of_parses_have_sentences_not_parses(tmp_path):
    """`treetext predict` reads the columns of a table: brackets would count as words."""
    assert reader("snli-parses", path=str(tmp_path)).columns == reader("snli", path=str(tmp_path)).columns
