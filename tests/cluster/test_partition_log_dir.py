"""A partition whose log directory fails while the broker is told to lead it."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from kafka_py.common.errors import KafkaStorageException
from kafka_py.common.topic_partition import TopicPartition
from tests.server.replica_support import Env

TP = TopicPartition("topic", 0)


@pytest.fixture
def env(tmp_path: pathlib.Path) -> Iterator[Env]:
    env = Env(tmp_path)
    yield env
    env.close()


def test_the_directory_has_no_checkpoint_any_more(env: Env) -> None:
    """The others of the same request are led; Kafka fails for all of them."""
    env.replica_manager.high_watermark_checkpoints.clear()
    with pytest.raises(KafkaStorageException, match="is offline"):
        env.become_leader(TP)
