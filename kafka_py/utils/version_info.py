"""Prints the version: what the tools answer to `--version`.

Ours in 1.1.1; later versions of Kafka have kafka.utils.VersionInfo.
"""

from __future__ import annotations

from kafka_py.common.utils.app_info_parser import AppInfoParser
from kafka_py.common.utils.exit import Exit


class VersionInfo:
    """The version as one line.

    Mirrors: org.apache.kafka.server.util.VersionInfo
    """

    @staticmethod
    def get_version_string() -> str:
        """`1.1.1 (Commit:0123456789abcdef) (kafka_py:0.1.0)`"""
        return (
            f"{AppInfoParser.get_version()} (Commit:{AppInfoParser.get_commit_id()}) "
            f"(kafka_py:{AppInfoParser.get_kafka_py_version()})"
        )

    @staticmethod
    def print_and_exit() -> None:
        """Print the line and end the process."""
        print(VersionInfo.get_version_string())
        Exit.exit(0)
