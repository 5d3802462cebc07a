"""The settings that models share: the ``[model]`` section of a recipe, saved with each model."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from treetext.data import Settings

Size = Annotated[int, Field(ge=1, le=100_000)]


class ModelSettings(Settings):
    """The settings of a model; the default of `kind` in a subclass is the name of the model in the registry."""

    kind: str

    @property
    def has_trees(self) -> bool:
        """Whether a model with these settings has trees."""
        return False


class LevelSettings(Settings):
    """How the words of a sentence, or the sentences of a document, become one vector."""

    attention: Literal["none", "simple", "projective", "nonprojective"] = "nonprojective"
    encoder: Literal["bilstm", "feedforward", "affine"] = "bilstm"
    pooling: Literal["max", "mean", "sum", "root"] = Field("max", description="root weighs by the root marginals")
    children: bool = Field(True, description="gather from children too, not from parents only")
    activation: Literal["tanh", "leaky_relu", "product"] = Field(
        "tanh", description="of the gathered vector; product multiplies it with a word's own vector and adds it"
    )
    single_root: bool = True
    temperature: float = Field(1.0, gt=0, description="divides the scores of arcs and roots")
    gated: bool = Field(False, description="add the gathered vector to a word's own through a gate that starts at 0")

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        if self.pooling == "root" and self.attention not in ("projective", "nonprojective"):
            raise ValueError(f"pooling: root needs trees (projective or nonprojective), not attention {self.attention}")
        if self.gated and self.activation == "product":
            raise ValueError("gated: not with the activation product, which adds by itself; expected false")
        return self
