"""Settings that models share: the ``[model]`` section of a recipe, saved with each model."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from treetext.data import Settings

Size = Annotated[int, Field(ge=1, le=100_000)]
Rounds = Annotated[int, Field(ge=1, le=1000)] | Literal["height"]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class ModelSettings(Settings):
    """The base class of model settings. In a subclass, the default of `kind` is the model's name in the registry."""

    kind: str = Field(description="the system; its name in the registry")

    @property
    def has_trees(self) -> bool:
        """Whether a model with these settings has trees."""
        return False


class LevelSettings(Settings):
    """The settings of a `Level`, which maps words to a sentence vector, or sentences to a document vector."""

    attention: Literal["none", "simple", "projective", "nonprojective"] = Field(
        "nonprojective", description="over trees, without crossing arcs or with them, or over pairs of words"
    )
    encoder: Literal["bilstm", "feedforward", "affine", "local"] = Field(
        "bilstm", description="network that encodes the sequence; local: a bi-LSTM only for the scores of arcs"
    )
    pooling: Literal["max", "mean", "sum", "root"] = Field("max", description="root: sum weighted by root marginals")
    parents: bool = Field(True, description="gather from parents")
    children: bool = Field(True, description="gather from children")
    rounds: Rounds = Field(1, description="how often words gather along one tree; height: once for each of its levels")
    activation: Literal["tanh", "leaky_relu", "product"] = Field(
        "tanh", description="activation of the gathered vector; product: add its product with the word's own vector"
    )
    root: Literal["any", "first"] = Field("any", description="first: the first word is the root of all trees")
    single_root: bool = Field(True, description="trees have exactly one root, not one or more")
    temperature: float = Field(1.0, gt=0, description="divides the scores of arcs and roots")
    gated: bool = Field(False, description="add the gathered vector to the word's own through a gate, initially 0")
    estimator: Literal["marginals", "perturbed", "straight_through", "sampled"] = Field(
        "marginals", description="weights in training: exact marginals, relaxed samples, or sampled trees"
    )
    noise: NotNegative | Annotated[list[NotNegative], Field(min_length=1)] = Field(
        1.0, description="scale of the Gumbel noise of relaxed samples; a list: at evenly spaced points of training"
    )
    relaxation: Positive | Annotated[list[Positive], Field(min_length=1)] = Field(
        1.0, description="temperature of relaxed samples; a list: at evenly spaced points of training"
    )
    evaluation: Literal["marginals", "tree"] = Field(
        "marginals", description="weights after training: exact marginals, or the most probable tree"
    )

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        if self.pooling == "root" and self.attention not in ("projective", "nonprojective"):
            raise ValueError(f"pooling: root needs trees (projective or nonprojective), not attention {self.attention}")
        if self.gated and self.activation == "product":
            raise ValueError("gated: not with the activation product, which adds by itself; expected false")
        if not (self.parents or self.children):
            raise ValueError("parents, children: both are false; expected true for at least one")
        return self
