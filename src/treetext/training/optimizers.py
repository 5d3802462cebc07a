"""Optimisers for models in which some parameters, such as word vectors, have sparse gradients."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from treetext.training.recipe import Training


def make_optimizer(model: nn.Module, settings: Training) -> Optimizer:
    """The optimiser of the settings. Biases, root vectors and parameters with sparse gradients have no weight decay."""
    # This is the default, but torch warns if it is not set explicitly.
    torch.sparse.check_sparse_tensor_invariants.disable()  # type: ignore[no-untyped-call]
    sparse = {id(p) for p in sparse_parameters(model)}
    tables = sparse_parameters(model) if settings.vectors_rate else []
    others = [p for p in model.parameters() if id(p) not in sparse]
    weights, rest = [p for p in others if p.dim() > 1], [p for p in others if p.dim() <= 1]
    groups = [{"params": weights, "weight_decay": settings.l2}, {"params": rest, "weight_decay": 0.0}]
    rate = settings.learning_rate
    tables_rate = rate * settings.vectors_rate
    match settings.optimizer:
        case "adagrad":  # with the initial value of TensorFlow, 0.1
            both = partial(torch.optim.Adagrad, lr=rate, initial_accumulator_value=0.1)
            return Together(
                both(groups, fused=True), *([both(tables, lr=tables_rate)] if tables else [])
            )  # not fused: sparse
        case "sgd":
            return torch.optim.SGD([*groups, {"params": tables, "lr": tables_rate}], lr=rate)
        case "adam":
            return Together(torch.optim.Adam(groups, lr=rate), *_sparse_adam(tables, tables_rate))
        case "adamw":
            return Together(torch.optim.AdamW(groups, lr=rate), *_sparse_adam(tables, tables_rate))


def sparse_parameters(model: nn.Module) -> list[nn.Parameter]:
    """The parameters with sparse gradients: the word vectors."""
    tables = [part for part in model.modules() if getattr(part, "sparse", False)]
    return [p for table in tables for p in table.parameters(recurse=False)]


def _sparse_adam(tables: list[nn.Parameter], rate: float) -> list[Optimizer]:
    return [torch.optim.SparseAdam(tables, lr=rate)] if tables else []


class Together(Optimizer):
    """Several optimisers, each for some of the parameters, as one."""

    def __init__(self, *optimizers: Optimizer) -> None:
        self.optimizers = optimizers
        super().__init__([group for optimizer in optimizers for group in optimizer.param_groups], {})
        self._share()

    def _share(self) -> None:
        """Share groups and state with all optimisers, so that they see changes of the learning rate."""
        groups = iter(self.param_groups)
        for optimizer in self.optimizers:
            optimizer.param_groups = [next(groups) for _ in optimizer.param_groups]
            optimizer.state = self.state

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step of each optimiser."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for optimizer in self.optimizers:
            optimizer.step()
        return loss

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state from `state_dict`."""
        super().load_state_dict(state_dict)
        self._share()


@torch.no_grad()
def clip(parameters: Iterable[nn.Parameter], most: float) -> None:
    """Scale all gradients so that their norm is at most `most`. Torch's own function takes no sparse gradients."""
    gradients = []
    for parameter in parameters:
        if parameter.grad is not None:
            if parameter.grad.is_sparse:
                parameter.grad = parameter.grad.coalesce()
            gradients.append(parameter.grad)
    values: list[Tensor] = [g.values() if g.is_sparse else g for g in gradients]
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(values)))
    scale = (most / (norm + 1e-12)).clamp(max=1.0)
    torch._foreach_mul_(values, scale)
