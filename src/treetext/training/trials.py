"""A search over the ranges of a recipe: trials that are compared on dev data, with Optuna."""

import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from treetext.data import BadInput, Corpus, Progress, Settings, needs, open_corpus
from treetext.evaluation import evaluate
from treetext.models import Model, check_free, find_model, load_model, save_model
from treetext.training.baselines import measure_baselines
from treetext.training.fit import (
    TRIALS,
    Interrupted,
    check_finished,
    check_same,
    check_same_data,
    clear,
    keep_start,
    say_missing,
    train,
)
from treetext.training.recipe import Recipe, load_recipe
from treetext.training.start import start_recipe

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

DRAWS = 100
"""So many draws without untried values end a search: its choices may be exhausted."""


def search(
    recipe: str | Path | Recipe,
    out: str | Path,
    trials: int,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002 (as the option of the command)
    start_from: str | Path | None = None,
    resume: bool = False,
    replace: bool = False,
    devices: int | str = 1,
    accelerator: str = "cpu",
    progress: Progress | None = None,
    say: Any = None,
    command: str | None = None,
) -> Model:
    """Train with values of the ranges in ``[search]``, and save and return the model with the best dev accuracy.

    The first trial is the recipe as it is. The tree-structured Parzen estimator of Optuna (the extra `search`) chooses
    the values of the others. All trials have the same data and seed. Equal dev accuracies are compared by their log
    loss. The test data are scored once, with the best model. Its ``about["trials"]`` lists the trials, and
    ``about["trial"]`` is the number of the best one, from 1. A trial that fails, such as one that diverges, counts as
    the worst.

    Finished trials and the best model so far are in ``out/training/trials`` until the end. With `resume`, the search
    continues from there; `trials` is the number of all trials, and may be another. The rest is as for `train`.
    """
    if trials < 1:
        raise BadInput(f"trials: got {trials}; expected 1 or more")
    with needs("search"):
        import optuna  # noqa: F401 (before anything is trained)
    out, say = Path(out), say or (lambda line: print(line, file=sys.stderr, flush=True))
    check_free(out, replace or resume)
    check_finished(out, replace or resume)
    recipe = load_recipe(recipe, set)
    if start_from is not None:
        recipe = start_recipe(recipe, load_model(start_from), str(start_from), say)
    if not recipe.search:
        example = '"training.learning_rate" = { low = 5e-4, high = 4e-3, log = true }'
        raise BadInput(f"{recipe.name}: no ranges to search; expected a section [search], with keys such as {example}")
    task = find_model({"kind": recipe.model.kind}).task
    recipe = recipe.model_copy(update={"data": recipe.data.recognised(say, task)})
    path = out / "training" / TRIALS
    done = _read(path) if resume else []
    if resume:
        check_same(recipe, path.parent, start_from)
    corpus = open_corpus(recipe.data, progress)
    if resume:
        check_same_data(corpus, path.parent)
    else:
        clear(out / "training")
    options = {"start_from": start_from, "devices": devices, "accelerator": accelerator, "progress": progress}
    try:
        _run(recipe, corpus, path, done, trials, say, options)
        model = load_model(path.with_name(str(_best(done))))
        if len(corpus.rows["test"]):
            measured = evaluate(model, corpus, "test", progress)
            model.about["scores"]["test"], model.about["measures"]["test"] = measured.accuracy, measured.summary()
        if model.by_gradients and recipe.training.baselines:
            model.about["baselines"] = measure_baselines(corpus, progress, say)
    except (Interrupted, KeyboardInterrupt):
        raise Interrupted(_how_to_resume(path)) from None
    model.about |= {"trial": _best(done), "trials": [trial.model_dump(exclude_none=True) for trial in done]}
    model.about |= {"command": command} if command else {}
    save_model(model, out, replace=True)
    clear(out / "training")
    say_missing(model, out, say)
    return model


class Trial(Settings):
    """A finished trial: its values, and its scores on dev data or the problem that it had."""

    values: dict[str, Any]
    seconds: float
    dev_accuracy: float | None = None
    dev_log_loss: float | None = None
    problem: str | None = None

    @property
    def score(self) -> tuple[float, float]:
        """A higher one is better: by accuracy, ties by log loss. A problem is worse than any scores."""
        if self.dev_accuracy is None or self.dev_log_loss is None:
            return -1.0, 0.0
        return self.dev_accuracy, -self.dev_log_loss

    def __str__(self) -> str:
        values = ", ".join(f"{key} = {f'{v:.4g}' if isinstance(v, float) else v}" for key, v in self.values.items())
        if self.dev_accuracy is None:
            return f"{self.problem}, {self.seconds} s; {values}"
        scores = f"dev accuracy {100 * self.dev_accuracy:.1f}, log loss {abs(self.dev_log_loss or 0):.4f}"
        return f"{scores}, {self.seconds} s; {values}"


def _run(
    recipe: Recipe, corpus: Corpus, path: Path, done: list[Trial], trials: int, say: Any, options: Mapping[str, Any]
) -> None:
    """Add trials to those that are done. Only the model of the best one is kept."""
    for number in range(len(done) + 1, trials + 1):
        values = _suggested(recipe, done) if done else {}
        if values is None:
            say(f"stopped after {len(done)} trials: no untried values in {DRAWS} draws")
            break
        start = time.perf_counter()
        about = say if number == 1 else lambda _: None  # the data are the same in all trials
        try:
            chosen = load_recipe(recipe, values)
            model = train(chosen, path.with_name(str(number)), replace=True, trial=True, say=about, **options)
        except BadInput as error:
            if number == 1:
                raise
            trial = Trial(values=values, problem=str(error), seconds=round(time.perf_counter() - start, 1))
        else:
            scores = model.about["measures"]["dev"]
            trial = Trial(
                values=_values(model.about["recipe"], recipe.search),
                dev_accuracy=scores["accuracy"],
                dev_log_loss=scores["log_loss"],
                seconds=model.about["seconds"],
            )
        if number == 1:
            keep_start(recipe, corpus, path.parent, options["start_from"])
        done.append(trial)
        _write(done, path)
        say(f"trial {number} of {trials}: {trial}")
        for other in range(1, number + 1):
            if other != _best(done):
                shutil.rmtree(path.with_name(str(other)), ignore_errors=True)


def _best(done: Sequence[Trial]) -> int:
    """The number of the best trial, from 1. Of equally good ones, it is the first."""
    return 1 + max(range(len(done)), key=lambda index: done[index].score)


def _suggested(recipe: Recipe, done: Sequence[Trial]) -> dict[str, Any] | None:
    """Untried values, or None if none were drawn. They depend only on the seed and on the trials that are done."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    seed = int(np.random.SeedSequence([recipe.seed, len(done)]).generate_state(1)[0])
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    distributions = {key: _distribution(recipe, key) for key in recipe.search}
    ranks = {score: rank for rank, score in enumerate(sorted(trial.score for trial in done))}
    for trial in done:
        # The first trial may have values outside of the ranges. The estimator uses no more of scores than their order.
        with suppress(TypeError, ValueError):
            params, value = trial.values, float(ranks[trial.score])
            study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=value))
    tried = [trial.values for trial in done]
    draws = (study.ask(distributions).params for _ in range(DRAWS))
    return next((values for values in draws if values not in tried), None)


def _distribution(recipe: Recipe, key: str) -> "BaseDistribution":
    """What Optuna draws values of a setting from: whole numbers where the recipe has whole numbers."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    stated = recipe.search[key]
    if isinstance(stated, list):
        return CategoricalDistribution(stated)
    low, high = (_values(load_recipe(recipe, {key: end}).model_dump(), [key])[key] for end in (stated.low, stated.high))
    if isinstance(low, int):
        return IntDistribution(low, high, log=stated.log, step=int(stated.step or 1))
    return FloatDistribution(low, high, log=stated.log, step=stated.step)


def _values(recipe: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """The values of dotted keys. Keys in an unset section have none."""
    values = {}
    for key in keys:
        value: Any = recipe
        for part in key.split("."):
            value = None if value is None else value.get(part)
        values[key] = value
    return values


def _read(path: Path) -> list[Trial]:
    if not path.exists():
        raise BadInput(f"{path.parent}: no trials to resume from; expected a search that was interrupted")
    try:
        return [Trial.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except ValueError:
        raise BadInput(f"{path}: damaged; expected a finished trial in each line, or --replace") from None


def _write(done: Sequence[Trial], path: Path) -> None:
    """Write all trials to a new file first, so that there is always a whole one."""
    aside = path.with_suffix(".partial")
    aside.write_text("".join(f"{trial.model_dump_json(exclude_none=True)}\n" for trial in done), encoding="utf-8")
    aside.replace(path)


def _how_to_resume(path: Path) -> str:
    if path.exists():
        return f"stopped; {path} holds all finished trials: the same command with --resume continues"
    return "stopped in the first trial: nothing to resume from"
