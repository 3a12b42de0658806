"""LogDirFailureChannel: each directory comes out once."""

from __future__ import annotations

from kafka_py.server.log_dir_failure_channel import LogDirFailureChannel


def test_each_directory_once() -> None:
    channel = LogDirFailureChannel(2)
    for directory in ("/a", "/b", "/a", "/b"):
        channel.maybe_add_offline_log_dir(directory, "broken", OSError("I/O error"))
    assert [channel.take_next_offline_log_dir() for _ in range(2)] == ["/a", "/b"]
    assert channel._offline_log_dir_queue.is_empty()
