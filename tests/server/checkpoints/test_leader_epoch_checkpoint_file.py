"""LeaderEpochCheckpointFile."""

from __future__ import annotations

import pathlib

import pytest

from kafka_py.server.checkpoints.leader_epoch_checkpoint_file import (
    EpochEntry,
    LeaderEpochCheckpointFile,
    LeaderEpochFile,
)

EPOCHS = [EpochEntry(0, 1), EpochEntry(1, 2), EpochEntry(2, 3)]


@pytest.mark.ported("LeaderEpochCheckpointFileTest.shouldPersistAndOverwriteAndReloadFile")
def test_persist_overwrite_reload(tmp_path: pathlib.Path) -> None:
    file = LeaderEpochFile.new_file(tmp_path)
    checkpoint = LeaderEpochCheckpointFile(file)
    checkpoint.write(EPOCHS)
    assert checkpoint.read() == EPOCHS
    assert file.read_text() == "0\n3\n0 1\n1 2\n2 3\n"
    assert file.name == "leader-epoch-checkpoint"
    checkpoint.write(EPOCHS[1:])
    assert checkpoint.read() == EPOCHS[1:]


@pytest.mark.ported("LeaderEpochCheckpointFileTest.shouldRetainValuesEvenIfCheckpointIsRecreated")
def test_values_survive_a_new_object(tmp_path: pathlib.Path) -> None:
    file = LeaderEpochFile.new_file(tmp_path)
    LeaderEpochCheckpointFile(file).write(EPOCHS)
    assert LeaderEpochCheckpointFile(file).read() == EPOCHS
