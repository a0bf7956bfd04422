"""The cached loss equals the plain one over the same chunks, in value and gradient, dropout included."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from skillfit.losses import cached_loss, info_nce, passage_scores

ROWS = torch.randn(12, 5, generator=torch.Generator().manual_seed(1))
OWNER = torch.tensor([0, 0, 1, 2, 2, 2, 3, 4])  # the last eight rows are passages of five columns


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(5, 16), torch.nn.Tanh(), torch.nn.Dropout(0.4), torch.nn.Linear(16, 4)
        )
        self.unused = torch.nn.Linear(2, 2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.nn.functional.normalize(self.layers(x), dim=1)


def objective(parts: list[Tensor]) -> Tensor:
    rows = torch.cat(parts).float()
    scores = passage_scores(rows[:4], rows[4:], OWNER, 5)
    return info_nce(scores, torch.arange(4), temperature=0.2)


def losses(net: Net, chunk: int, *, cached: bool, scale: float = 1.0, times: int = 1, bf16: bool = False) -> Tensor:
    chunks = list(ROWS.split(chunk))
    torch.manual_seed(11)
    for _ in range(times):
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            if cached:
                value = cached_loss(chunks, net, objective, list(net.parameters()))
            else:
                value = objective([net(part) for part in chunks])
        (value * scale).backward()
    return value.detach()


def compare(plain: Net, cached: Net, tolerance: float) -> None:
    for (name, one), other in zip(plain.named_parameters(), cached.parameters(), strict=True):
        expected = torch.zeros_like(one) if one.grad is None else one.grad
        found = torch.zeros_like(other) if other.grad is None else other.grad
        assert torch.allclose(expected, found, atol=tolerance, rtol=1e-4), name


@pytest.mark.parametrize("chunk", [1, 3, 12])
@pytest.mark.parametrize(
    "how",
    [{}, {"scale": 1024.0}, {"times": 2}, {"bf16": True}],
    ids=["plain", "scaled loss", "accumulated", "autocast"],
)
def test_up06_value_and_gradients_equal_the_plain_ones(chunk: int, how: dict) -> None:
    plain, cached = Net(), Net()
    one, other = losses(plain, chunk, cached=False, **how), losses(cached, chunk, cached=True, **how)
    assert other.item() == pytest.approx(one.item(), rel=1e-6)
    # Under autocast the plain step adds up the chunks' gradients in bfloat16, the cached one in float32.
    compare(plain, cached, 2e-2 if how.get("bf16") else 1e-6 * how.get("scale", 1.0))


def test_without_dropout_no_chunk_size_matters() -> None:
    nets = [Net().eval() for _ in range(3)]
    values = [losses(net, chunk, cached=True).item() for net, chunk in zip(nets, (1, 5, 12), strict=True)]
    assert values == pytest.approx([values[0]] * 3, rel=1e-6)
    for net in nets[1:]:
        compare(nets[0], net, 1e-6)


def test_frozen_parameters_get_nothing_and_unused_ones_zero() -> None:
    net = Net()
    net.layers[0].requires_grad_(False)
    losses(net, 3, cached=True)
    assert net.layers[0].weight.grad is None
    assert net.unused.weight.grad is not None
    assert not net.unused.weight.grad.any()
    assert net.layers[3].weight.grad is not None
    assert net.layers[3].weight.grad.any()


def test_the_random_state_goes_on_as_after_one_pass() -> None:
    states = []
    for cached in (False, True):
        losses(Net(), 3, cached=cached)
        states.append(torch.get_rng_state())
    assert torch.equal(*states)


def test_no_more_than_one_chunk_is_kept_for_the_backward_pass() -> None:
    alive: list[int] = []
    net = Net()

    def encode(part: Tensor) -> Tensor:
        alive.append(0)
        found = net(part)
        if torch.is_grad_enabled():
            found.register_hook(lambda g: alive.append(1))
            assert alive.count(1) == alive.count(0) - 5  # each chunk's graph is used up before the next is built
        else:
            assert found.grad_fn is None
        return found

    chunks = list(ROWS.split(3))
    cached_loss(chunks, encode, objective, list(net.parameters())).backward()
    assert alive.count(1) == 4


def test_training_steps_agree() -> None:
    plain = Net()
    cached = copy.deepcopy(plain)
    for net, on in ((plain, False), (cached, True)):
        optimiser = torch.optim.AdamW(net.parameters(), lr=0.05)
        for _ in range(5):
            optimiser.zero_grad()
            losses(net, 2, cached=on)
            optimiser.step()
    for one, other in zip(plain.layers.parameters(), cached.layers.parameters(), strict=True):
        assert torch.allclose(one, other, atol=1e-5)
