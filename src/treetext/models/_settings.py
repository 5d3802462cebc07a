"""The settings of models: the ``[model]`` section of a recipe, saved with each model."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Size = Annotated[int, Field(ge=1, le=100_000)]


class Settings(BaseModel):
    """What all settings have in common: unknown ones are refused, and nothing changes after the checks."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class LevelSettings(Settings):
    """How the words of a sentence, or the sentences of a document, become one vector."""

    attention: Literal["none", "simple", "projective", "nonprojective"] = "nonprojective"
    encoder: Literal["bilstm", "feedforward", "affine"] = "bilstm"
    pooling: Literal["max", "mean", "sum", "root"] = Field("max", description="root weighs by the root marginals")
    children: bool = Field(True, description="gather from children too, not from parents only")
    activation: Literal["tanh", "leaky_relu", "product"] = Field(
        "tanh", description="of what was gathered; product: multiplied with a word's own vector, and added to it"
    )
    single_root: bool = True
    temperature: float = Field(1.0, gt=0, description="divides the scores of arcs and roots")
    gated: bool = Field(False, description="add what was gathered to a word's own vector, through a gate shut at first")

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        if self.pooling == "root" and self.attention not in ("projective", "nonprojective"):
            raise ValueError(f"pooling: root needs trees (projective or nonprojective), not attention {self.attention}")
        if self.gated and self.activation == "product":
            raise ValueError("gated: not with the activation product, which adds by itself; expected false")
        return self


class ModelSettings(Settings):
    """Sizes and parts that documents and pairs share."""

    task: str
    embedding: Size = Field(200, description="size of word vectors")
    semantic: Size = Field(75, description="in each direction, what carries meaning")
    structure: Annotated[int, Field(ge=0, le=100_000)] = Field(25, description="in each direction, what finds trees")
    words: LevelSettings = LevelSettings()
    hidden: Size = Field(150, description="size of the hidden layers of the classifier")
    dropout: float = Field(0.3, ge=0, lt=1)

    def _levels(self) -> list[str]:
        return ["words"]

    @model_validator(mode="after")
    def _check_structure(self) -> Self:
        for name in self._levels():
            kind = getattr(self, name).attention
            if kind != "none" and not self.structure:
                raise ValueError(f"structure: attention {kind} of {name} needs structure vectors; expected 1 or more")
        return self

    def level(self, name: str) -> dict[str, Any]:
        """The arguments of a `treetext.nn.Level`, but for the size of its inputs."""
        return {"semantic": self.semantic, "structure": self.structure, **getattr(self, name).model_dump()}


class DocumentSettings(ModelSettings):
    """A `DocumentClassifier`: words make sentences, sentences make the document."""

    task: Literal["documents"]
    sentences: LevelSettings = LevelSettings()
    layers: int = Field(2, ge=0, le=10, description="hidden layers of the classifier; 0 for one linear map")

    def _levels(self) -> list[str]:
        return ["words", "sentences"]


class PairSettings(ModelSettings):
    """A `PairClassifier`: each word of a sentence is compared with the words of the other."""

    task: Literal["pairs"]
    embedding: Size = Field(300, description="size of word vectors")
    semantic: Size = Field(100, description="in each direction, what carries meaning")
    structure: Annotated[int, Field(ge=0, le=100_000)] = Field(50, description="in each direction, what finds trees")
    hidden: Size = Field(200, description="size of the hidden layers of all perceptrons")
    dropout: float = Field(0.2, ge=0, lt=1)
    enhanced: bool = Field(False, description="compare aligned words by their difference and product too")
    aggregation: Literal["sum", "mean"] = Field("sum", description="how compared words make one vector")


AnySettings = Annotated[DocumentSettings | PairSettings, Field(discriminator="task")]
