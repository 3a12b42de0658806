"""Settings of the log cleaner.

Mirrors: core/src/main/scala/kafka/log/CleanerConfig.scala @ 1.1.1
"""

from __future__ import annotations

import sys
from typing import NamedTuple


class CleanerConfig(NamedTuple):
    """How many cleaner threads there are, how much memory and I/O they may use, and whether they run at all.

    Mirrors: kafka.log.CleanerConfig
    """

    num_threads: int = 1
    dedupe_buffer_size: int = 4 * 1024 * 1024
    dedupe_buffer_load_factor: float = 0.9
    io_buffer_size: int = 1024 * 1024
    max_message_size: int = 32 * 1024 * 1024
    max_io_bytes_per_second: float = sys.float_info.max
    back_off_ms: int = 15 * 1000
    enable_cleaner: bool = True
    hash_algorithm: str = "MD5"
