"""What requests and answers look like: the schemas of the OpenAPI document."""

from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.types import FailFast

from treetext import __version__
from treetext.models import Model
from treetext.serve.queue import Limits

Heads = Annotated[
    list[int] | None, Field(description="the parent of each, -1 for the root; null where the model has no such tree")
]


class Message(BaseModel):
    """Nothing but what it says."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Prediction(Message):
    """The most probable label of a text."""

    label: str
    probability: float = Field(ge=0, le=1)
    probabilities: dict[str, float] = Field(description="of all labels")


class Predictions(Message):
    """One for each text, in the same order."""

    predictions: list[Prediction]


class Weights(Message):
    """The marginals behind a tree; with simple attention, shares."""

    arcs: list[list[float]] = Field(description="at [i][j] the probability that i is the parent of j")
    roots: list[float] = Field(description="the probability that i is the root")


class Sentence(Message):
    """The words of a sentence, and the tree over them."""

    words: list[str]
    heads: Heads
    weights: Weights | None


class Parsed(Prediction):
    """A text with its label and its trees."""

    heads: Heads
    weights: Weights | None
    sentences: list[Sentence]


class Parses(Message):
    """One for each text, in the same order."""

    parsed: list[Parsed]


class About(Message):
    """The model that is served."""

    treetext: str
    task: str
    labels: list[str]
    language: str
    recipe: str | None = Field(description="the name of the recipe that it was trained by, where it is known")
    settings: dict[str, Any] = Field(description="the [model] section of the recipe")
    scores: dict[str, float] = Field(description="accuracy after training, where it is known")
    parameters: int = Field(description="without word vectors")
    limits: dict[str, float] = Field(description="how much the server takes on")


class Status(Message):
    """How the server is."""

    status: str


class Questions(NamedTuple):
    """The bodies of requests, which depend on the model and on the limits."""

    field: str
    """Where the texts are."""
    predict: type[Message]
    parse: type[Message]


def questions(model: Model, limits: Limits) -> Questions:
    """What clients may ask a model."""
    text: Any = model.task.json_type(Annotated[str, Field(max_length=limits.characters)])
    field, example = model.task.field, [model.task.sample.text]
    texts: Any = Annotated[list[text], Field(max_length=limits.texts, examples=[example]), FailFast()]
    fields: dict[str, Any] = {field: (texts, ...)}
    predict = create_model("Predict", __base__=Message, __doc__="Texts to label.", **fields)
    weights = Field(False, description="whether to send the marginals behind the trees, too")
    parse = create_model("Parse", __base__=predict, __doc__="Texts to label and to parse.", weights=(bool, weights))
    return Questions(field, predict, parse)


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
    """Answers by the name of their schema: the label is that of a text without words."""
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
    }
    return {"Predictions": {"predictions": [prediction]}, "Parses": {"parsed": [parsed]}}
