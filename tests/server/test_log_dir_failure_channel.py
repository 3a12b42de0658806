"""LogDirFailureChannel: each directory comes out once."""

from __future__ import annotations

import errno
import os

import pytest

from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel


def test_each_directory_once() -> None:
    channel = LogDirFailureChannel(2)
    for directory in ("/a", "/b", "/a", "/b"):
        channel.maybe_add_offline_log_dir(directory, "broken", OSError("I/O error"))
    assert [channel.take_next_offline_log_dir() for _ in range(2)] == ["/a", "/b"]
    assert channel._offline_log_dir_queue.is_empty()


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE])
def test_a_process_without_descriptors_says_nothing_about_its_disk(code: int, caplog: pytest.LogCaptureFixture) -> None:
    channel = LogDirFailureChannel(1)
    channel.maybe_add_offline_log_dir("/a", "Error while creating log", OSError(code, os.strerror(code)))
    assert channel._offline_log_dir_queue.is_empty()
    assert not channel.has_offline_log_dir("/a")
    assert caplog.messages == [f"Error while creating log: {os.strerror(code)}. Log directory /a stays in service"]
