import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import DataLoader
from treetext.text import Batch, LengthBatches, batch, chunks
from treetext.text._batches import CHUNK, STEP

LENGTHS = st.lists(st.integers(1, 60), max_size=200)
DOCUMENTS = st.lists(st.lists(st.lists(st.integers(1, 9), min_size=1), min_size=1), min_size=1)


@settings(deadline=None, max_examples=50)
@given(LENGTHS, st.integers(1, 20), st.floats(0, 0.99))
def test_chunks_have_each_sequence_once_and_little_padding(lengths, most, waste):
    found = chunks(lengths, most, waste)
    order = [i for chunk in found for i in chunk]
    assert order == sorted(range(len(lengths)), key=lambda i: -lengths[i])  # stable
    assert all(1 <= len(chunk) <= most for chunk in found)
    positions = sum(len(chunk) * lengths[chunk[0]] for chunk in found)
    assert positions - sum(lengths) <= waste * positions


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=8, unique=True))
def test_chunks_take_the_least_time(lengths):
    falling = sorted(lengths, reverse=True)

    def time(chunks):
        return sum(CHUNK + chunk[0] * (STEP + len(chunk)) for chunk in chunks)

    ways = []
    for cuts in itertools.product([False, True], repeat=len(falling) - 1):
        ends = [0, *(i for i, cut in enumerate(cuts, start=1) if cut), len(falling)]
        ways.append([falling[i:j] for i, j in itertools.pairwise(ends)])
    found = [[lengths[i] for i in chunk] for chunk in chunks(lengths, waste=0.9999)]
    assert time(found) == min(map(time, ways))


def test_without_sequences_there_are_no_chunks():
    assert chunks([]) == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (([3, 0, 2],), r"lengths\[1\]: expected at least 1, got 0"),
        (([3], 0), "most: expected at least 1, got 0"),
        (([3], 4, 1.0), "waste: expected a share of at least 0 and below 1, got 1.0"),
        (([3], 4, -0.1), "waste: expected a share"),
    ],
)
def test_wrong_arguments_of_chunks_are_refused(arguments, problem):
    with pytest.raises(ValueError, match=f"^{problem}"):
        chunks(*arguments)


@settings(deadline=None, max_examples=50)
@given(DOCUMENTS, st.integers(1, 8))
def test_a_batch_has_every_word_in_its_place(documents, most):
    made = make(documents, most=most, waste=0.3)
    assert [len(document) for document in documents] == made.sentences.tolist()
    assert made.rows.tolist() == list(range(len(documents)))
    flat = [
        row[:n].tolist()
        for words, lengths in zip(made.words, made.lengths, strict=True)
        for row, n in zip(words, lengths, strict=True)
    ]
    assert [flat[i] for i in made.order] == [sentence for document in documents for sentence in document]
    for words, lengths in zip(made.words, made.lengths, strict=True):
        assert words.shape == (len(lengths), lengths.max())
        assert torch.equal(words == 0, torch.arange(words.shape[1]) >= lengths[:, None])


def test_the_tensors_of_a_batch():
    made = batch([(np.array([5, 6, 7], np.int32), np.array([1, 2], np.int32))], [-1], [41])
    assert [words.tolist() for words in made.words] == [[[6, 7]], [[5]]]
    assert (made.order.tolist(), made.labels.tolist(), made.rows.tolist()) == ([1, 0], [-1], [41])
    assert {tensor.dtype for part in made for tensor in (part if isinstance(part, list) else [part])} == {torch.int64}


def test_a_batch_moves_to_a_device():
    moved = make([[[1, 2], [3]]]).to("meta")
    assert isinstance(moved, Batch)
    assert {tensor.device.type for part in moved for tensor in (part if isinstance(part, list) else [part])} == {"meta"}


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (([], []), r"documents\[1\]: expected at least one sentence, got none"),
        (([1, 2], [1]), r"documents\[1\]: expected 1 words, as its lengths say, got 2"),
    ],
)
def test_a_bad_document_is_refused(document, problem):
    good, bad = (tuple(np.array(part, np.int64) for part in parts) for parts in (([1], [1]), document))
    with pytest.raises(ValueError, match=f"^{problem}"):
        batch([good, bad], [0, 0], [0, 1])


@settings(deadline=None, max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 99))), st.integers(1, 7), st.booleans(), st.integers(0, 3))
def test_each_row_comes_once_an_epoch(sizes, batch_size, shuffle, epoch):
    sentences, words = [s for s, _ in sizes], [w for _, w in sizes]
    rows = np.arange(len(sizes)) * 3 + 1
    batches = LengthBatches(sentences, words, batch_size, rows=rows, shuffle=shuffle)
    batches.set_epoch(epoch)
    found = list(batches)
    assert sorted(row for rows in found for row in rows) == rows.tolist()
    assert len(batches) == len(found)
    assert sum(len(rows) < batch_size for rows in found) <= 1


def test_batches_depend_on_seed_and_epoch_alone():
    sentences, words = lengths_of_documents(500)
    first = LengthBatches(sentences, words, 16, seed=1)
    again = LengthBatches(sentences, words, 16, seed=1)
    start = list(first)
    assert start == list(first) == list(again)
    assert start != list(LengthBatches(sentences, words, 16, seed=2))
    first.set_epoch(1)
    assert start != list(first)
    assert {frozenset(rows) for rows in start} != {frozenset(rows) for rows in first}  # other documents meet
    first.set_epoch(0)
    assert start == list(first)


def test_documents_of_one_batch_have_similar_lengths():
    sentences, words = lengths_of_documents(5000)
    batches = list(LengthBatches(sentences, words, 32))
    padded = sum(sentences[rows].max() * len(rows) for rows in batches)
    assert sentences.sum() / padded > 0.9
    assert [sentences[rows].max() for rows in batches] != sorted(sentences[rows].max() for rows in batches)


def test_without_shuffling_the_shortest_come_first():
    assert list(LengthBatches([2, 1, 1, 3], [9, 5, 4, 7], 2, shuffle=False)) == [[2, 1], [0, 3]]


def test_batches_serve_a_data_loader():
    batches = LengthBatches([2, 1, 1, 3], [9, 5, 4, 7], 2)
    loader = DataLoader(range(4), batch_sampler=batches, collate_fn=sorted)
    assert sorted(loader) == sorted(sorted(rows) for rows in batches)
    assert len(loader) == 2


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ([1, 2], [3], 2),
            r"sentences, words and rows: expected three vectors of one length, got shapes \(2,\), \(1,\)",
        ),
        (([1], [3], 0), "batch_size: expected at least 1, got 0"),
    ],
)
def test_wrong_arguments_of_length_batches_are_refused(arguments, problem):
    with pytest.raises(ValueError, match=f"^{problem}"):
        LengthBatches(*arguments)


def make(documents, **options):
    pairs = [
        (np.array([word for sentence in document for word in sentence]), np.array([len(s) for s in document]))
        for document in documents
    ]
    return batch(pairs, [0] * len(pairs), range(len(pairs)), **options)


def lengths_of_documents(n):
    random = np.random.default_rng(0)
    sentences = random.poisson(9, n) + 1
    return sentences, sentences * random.integers(5, 30, n)
