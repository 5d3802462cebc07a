"""Training that goes on from a trained model, with other labels or other texts."""

from collections.abc import Callable

from treetext.data import BadInput
from treetext.models import Model
from treetext.models.transfer import weight_settings
from treetext.training.recipe import Recipe, load_recipe


def start_recipe(recipe: Recipe, source: Model, name: str, say: Callable[[str], object]) -> Recipe:
    """The recipe with the settings that the weights of a model were trained with. `say` gets what was replaced.

    Raises `BadInput` if the recipe is for another kind of model.
    """
    if source.settings.kind != recipe.model.kind:
        expected = f"expected {recipe.model.kind}, as the recipe {recipe.name} says"
        raise BadInput(f"start_from: {name} is a model of the kind {source.settings.kind}; {expected}")
    if not source.by_gradients:
        raise BadInput(f"start_from: {source.settings.kind} is not trained by gradients; expected a model that is")
    before, after = weight_settings(recipe.model), weight_settings(source.settings)
    replaced = {key: value for key, value in after.items() if before.get(key) != value}
    if replaced:
        listed = ", ".join(f"{key}={value} (not {before.get(key)})" for key, value in replaced.items())
        say(f"settings of {name} instead of those of the recipe: {listed}")
    return load_recipe(recipe, after)  # also those that are the same: they are neither chosen by the data nor searched
