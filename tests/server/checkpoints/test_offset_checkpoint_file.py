"""OffsetCheckpointFile and the file format of all checkpoints."""

from __future__ import annotations

import pathlib

import pytest

from kafka_py.common.errors import KafkaStorageException
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.checkpoints.checkpoint_file import CheckpointFile
from kafka_py.server.checkpoints.offset_checkpoint_file import OffsetCheckpointFile
from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel


@pytest.mark.ported("OffsetCheckpointFileTest.shouldPersistAndOverwriteAndReloadFile")
def test_persist_overwrite_reload(tmp_path: pathlib.Path) -> None:
    checkpoint = OffsetCheckpointFile(tmp_path / "checkpoint")
    offsets = {TopicPartition("foo", 1): 5, TopicPartition("bar", 2): 10}
    checkpoint.write(offsets)
    assert checkpoint.read() == offsets
    assert (tmp_path / "checkpoint").read_text() == "0\n2\nfoo 1 5\nbar 2 10\n"
    offsets = {TopicPartition("foo", 2): 15, TopicPartition("bar", 3): 20}
    checkpoint.write(offsets)
    assert checkpoint.read() == offsets
    assert [f.name for f in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.ported("OffsetCheckpointFileTest.shouldHandleMultipleLines")
def test_many_lines(tmp_path: pathlib.Path) -> None:
    checkpoint = OffsetCheckpointFile(tmp_path / "checkpoint")
    offsets = {TopicPartition(topic, i): i * 5 for topic in ("foo", "bar") for i in range(1, 11)}
    checkpoint.write(offsets)
    assert checkpoint.read() == offsets


@pytest.mark.ported("OffsetCheckpointFileTest.shouldReturnEmptyMapForEmptyFile")
def test_empty_file(tmp_path: pathlib.Path) -> None:
    checkpoint = OffsetCheckpointFile(tmp_path / "checkpoint")
    assert checkpoint.read() == {}
    checkpoint.write({})
    assert checkpoint.read() == {}


@pytest.mark.ported("OffsetCheckpointFileTest.shouldThrowIfVersionIsNotRecognised")
def test_unknown_version(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "checkpoint"
    channel = LogDirFailureChannel(10)
    newer = CheckpointFile(
        file, OffsetCheckpointFile.CURRENT_VERSION + 1, OffsetCheckpointFile.Formatter(), channel, str(tmp_path)
    )
    newer.write([(TopicPartition("foo", 5), 10)])
    with pytest.raises(KafkaStorageException):
        OffsetCheckpointFile(file, channel).read()
    assert channel.take_next_offline_log_dir() == str(tmp_path)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("x\n", "Malformed line in checkpoint file"),
        ("0\nmany\n", "Malformed line in checkpoint file"),
        ("0\n1\nfoo 1\n", "Malformed line in checkpoint file"),
        ("0\n1\nfoo one 5\n", "Malformed line in checkpoint file"),
        ("0\n2\nfoo 1 5\n", "Expected 2 entries"),
        ("7\n0\n", "Unrecognized version"),
    ],
)
def test_malformed_files(tmp_path: pathlib.Path, text: str, cause: str) -> None:
    file = tmp_path / "checkpoint"
    file.write_text(text)
    with pytest.raises(KafkaStorageException) as raised:
        OffsetCheckpointFile(file).read()
    assert cause in str(raised.value.__cause__)


@pytest.mark.parametrize("text", ["", "0\n", "0\n0\n"])
def test_file_without_entries(tmp_path: pathlib.Path, text: str) -> None:
    file = tmp_path / "checkpoint"
    file.write_text(text)
    assert OffsetCheckpointFile(file).read() == {}


def test_write_error_takes_the_directory_offline(tmp_path: pathlib.Path) -> None:
    channel = LogDirFailureChannel(1)
    directory = tmp_path / "logs"
    directory.mkdir()
    checkpoint = OffsetCheckpointFile(directory / "checkpoint", channel)
    (directory / "checkpoint.tmp").mkdir()
    for _ in range(2):
        with pytest.raises(KafkaStorageException, match="Error while writing to checkpoint file"):
            checkpoint.write({})
    assert channel.take_next_offline_log_dir() == str(directory)
    assert channel._offline_log_dir_queue.is_empty()
