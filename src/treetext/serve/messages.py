"""Requests and answers: the schemas of the OpenAPI document."""

from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model
from pydantic.types import FailFast

from treetext import __version__
from treetext.models import Model
from treetext.serve.queue import Limits

Heads = Annotated[
    list[int] | None,
    Field(description="index of the parent of each node, -1 for the root; null if the model has no such tree"),
]


Count = Annotated[int, Field(ge=1), BeforeValidator(lambda n: int(n) if isinstance(n, float) and n.is_integer() else n)]
"""A whole number; in JSON Schema, 2.0 is one too."""


class Message(BaseModel):
    """A body without unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Prediction(Message):
    """The most probable label of a text."""

    label: str
    probability: float = Field(ge=0, le=1)
    probabilities: dict[str, float] = Field(
        description="probability of each label; with `top`, of the most probable ones, the most probable one first"
    )


class Predictions(Message):
    """One prediction for each text, in the same order."""

    predictions: list[Prediction]


class Vectors(Message):
    """One vector for each text, in the same order; zeros for a text without words."""

    vectors: list[list[float]]


class Weights(Message):
    """The marginals of a tree distribution or, with simple attention, the attention weights."""

    arcs: list[list[float]] = Field(description="arcs[i][j]: probability that i is the parent of j")
    roots: list[float] = Field(description="roots[i]: probability that i is the root")


class Sentence(Message):
    """The words of a sentence and the tree over them."""

    words: list[str]
    heads: Heads
    weights: Weights | None


class Evidence(Message):
    """An n-gram that speaks for the label, or against it."""

    ngram: str
    kind: str = Field(description="what it is an n-gram of: words, characters or, for pairs, which words")
    weight: float = Field(description="what it adds to the score of the label, minus its mean over all labels")


class Parsed(Prediction):
    """The label and the trees of a text."""

    heads: Heads
    weights: Weights | None
    sentences: list[Sentence]
    evidence: list[Evidence] = Field(description="n-grams with large weights; empty if the model knows no n-grams")


class Parses(Message):
    """One parse for each text, in the same order."""

    parsed: list[Parsed]


class About(Message):
    """The served model."""

    treetext: str
    task: str
    labels: list[str]
    language: str
    recipe: str | None = Field(description="name of the training recipe, if known")
    settings: dict[str, Any] = Field(description="the [model] section of the recipe")
    scores: dict[str, float] = Field(description="accuracy by split after training, if known")
    parameters: int = Field(description="number of parameters without word vectors")
    limits: dict[str, float] = Field(description="limits of the server")


class Status(Message):
    """State of the server."""

    status: str


class Questions(NamedTuple):
    """The request bodies, which depend on the model and the limits."""

    field: str
    """The field that has the texts."""
    predict: type[Message]
    parse: type[Message]
    encode: type[Message]


def questions(model: Model, limits: Limits) -> Questions:
    """The request bodies for a model."""
    text: Any = model.task.json_type(Annotated[str, Field(max_length=limits.characters)])
    field, example = model.task.field, [model.task.sample.text]
    texts: Any = Annotated[list[text], Field(max_length=limits.texts, examples=[example]), FailFast()]
    fields: dict[str, Any] = {field: (texts, ...)}
    top: Any = (Count | None, Field(None, description="how many of the most probable labels to return (default: all)"))
    weights = (bool, Field(False, description="whether to return the marginals, too"))
    return Questions(
        field,
        create_model("Predict", __base__=Message, __doc__="Texts to label.", **fields, top=top),
        create_model("Parse", __base__=Message, __doc__="Texts to label and to parse.", **fields, weights=weights),
        create_model("Encode", __base__=Message, __doc__="Texts to turn into vectors.", **fields),
    )


def about(model: Model, limits: Limits) -> About:
    """A description of a model."""
    return About(
        treetext=__version__,
        task=model.task.name,
        labels=model.labels,
        language=model.tokenizer.language,
        recipe=model.about.get("recipe_name"),
        settings=model.settings.model_dump(mode="json"),
        scores=model.about.get("scores", {}),
        parameters=model.size,
        limits=dict(limits._asdict()),
    )


def examples(model: Model) -> dict[str, Any]:
    """Example answers by the name of their schema, with the label of a text without words."""
    label, probability = max(zip(model.labels, model.prior, strict=True), key=lambda each: each[1])
    prediction = {
        "label": label,
        "probability": probability,
        "probabilities": dict(zip(model.labels, model.prior, strict=True)),
    }
    _, sentences, heads, sentence_heads = model.task.sample
    parsed = {
        **prediction,
        "heads": sentence_heads,
        "weights": None,
        "sentences": [{"words": w, "heads": h, "weights": None} for w, h in zip(sentences, heads, strict=True)],
        "evidence": [],
    }
    vectors = {"vectors": [[0.25, -0.5, 0.125]]}
    return {"Predictions": {"predictions": [prediction]}, "Parses": {"parsed": [parsed]}, "Vectors": vectors}
