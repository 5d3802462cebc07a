"""The figures of the paper, except accuracies, which are in the grid."""

from treetext.show import Published

STATISTICS = {
    "yelp": (5, "335K", 8.9, 151.6),
    "imdb": (10, "348K", 14.0, 325.6),
    "czech": (3, "92K", 3.5, 51.2),
    "debates": (2, "1.6K", 22.7, 519.2),
}
"""Classes, documents, sentences per document and words per document."""

SPEED = {
    "none": (0.0050, 0.0033),
    "simple": (0.0057, 0.0042),
    "projective": (0.1200, 0.0380),
    "nonprojective": (0.0070, 0.0045),
}
"""Seconds per pair of SNLI's test set on a GPU: maximum and mean."""

DOCUMENT_TREES: dict[str, dict[str, float]] = {
    "yelp": {"projective": 79.6, "height": 2.81, "depth_2": 15.1, "depth_3": 55.6, "depth_4": 22.3, "depth_5": 3.2},
    "imdb": {"projective": 74.9, "height": 3.34, "depth_2": 13.6, "depth_3": 46.8, "depth_4": 32.5, "depth_5": 4.1},
    "czech": {"projective": 82.8, "height": 1.50, "depth_2": 25.7, "depth_3": 57.1, "depth_4": 11.3, "depth_5": 5.8},
    "debates": {"projective": 62.4, "height": 3.58, "depth_2": 12.8, "depth_3": 30.2, "depth_4": 40.8, "depth_5": 14.8},
}
"""Trees over sentences: shares in percent, and heights."""

SENTENCE_TREES = Published(
    {
        "the paper's parser": {
            "height": 8.99, "depth_1": 9.8, "depth_2": 15.0, "depth_3": 12.8, "depth_4": 12.5, "depth_5": 12.0,
            "depth_6": 10.3,
        },
        "the paper's model": {
            "projective": 51.4, "height": 5.78, "depth_1": 8.4, "depth_2": 19.7, "depth_3": 22.4, "depth_4": 23.4,
            "depth_5": 14.4, "depth_6": 4.5, "gold_heads": 38.7,
        },
    },
    "The paper does not say how it counts depths and same edges, and its parser's dependencies are not by our head"
    " rules.",
)  # fmt: skip
"""The paper's figures of the trees over the words of SNLI's test data."""
