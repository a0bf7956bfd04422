"""The order of training rows: by seed and epoch alone, shared by processes, resumable."""

from __future__ import annotations

import itertools

import pytest

from skillfit.data.datamodule import EpochBatches, ResumableLoader


def batches(size: int, batch: int, seed: int = 0, epoch: int = 0, rank: int = 0, world: int = 1) -> list[list[int]]:
    sampler = EpochBatches(size, batch, seed, rank=rank, world=world)
    sampler.set_epoch(epoch)
    return list(sampler)


def test_every_row_once_an_epoch_in_another_order() -> None:
    first, second = batches(10, 4), batches(10, 4, epoch=1)
    assert sorted(itertools.chain(*first)) == sorted(itertools.chain(*second)) == list(range(10))
    assert [len(rows) for rows in first] == [4, 4, 2]
    assert first != second
    assert first == batches(10, 4) != batches(10, 4, seed=1)


@pytest.mark.parametrize("size", [8, 9, 10, 11, 16, 17, 31])
@pytest.mark.parametrize("world", [2, 3])
def test_processes_share_the_batches_of_one(size: int, world: int) -> None:
    alone = batches(size, 2 * world)
    parts = [batches(size, 2, rank=rank, world=world) for rank in range(world)]
    joined = [list(itertools.chain(*rows)) for rows in zip(*parts, strict=True)]
    assert sorted(itertools.chain(*joined)) == list(range(size))
    assert all(rows for part in parts for rows in part)
    same = len(alone[-1]) >= world  # fewer rows than processes join the batch before
    assert (joined == alone) == same


def test_fewer_rows_than_processes_is_an_error() -> None:
    with pytest.raises(ValueError, match="1 rows cannot be shared by 2 processes"):
        EpochBatches(1, 4, 0, world=2)


def test_rows_of_a_batch_over_all_processes() -> None:
    sampler = EpochBatches(7, 2, 0, world=2)
    assert [sampler.rows(i) for i in range(len(sampler))] == [4, 3]


def loader(workers: int = 0) -> ResumableLoader:
    return ResumableLoader(list(range(20)), EpochBatches(20, 4, 3), collate_fn=list, num_workers=workers)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_goes_on_where_it_was_stopped(workers: int) -> None:
    whole = list(loader(workers))
    stopped = loader(workers)
    taken = list(itertools.islice(stopped, 2))
    state = stopped.state_dict()
    assert state == {"epoch": 0, "done": 2}
    resumed = loader(workers)
    resumed.load_state_dict(state)
    assert taken + list(resumed) == whole
    assert len(resumed) == 5


def test_the_epoch_after_a_resume_is_whole() -> None:
    resumed = loader()
    resumed.load_state_dict({"epoch": 0, "done": 5})
    resumed.batches.set_epoch(1)
    expected = loader()
    expected.batches.set_epoch(1)
    assert list(resumed) == list(expected)
    assert resumed.state_dict() == {"epoch": 1, "done": 5}
