"""Which version this is.

Mirrors: clients/src/main/java/org/apache/kafka/common/utils/AppInfoParser.java @ 1.1.1
"""

from __future__ import annotations

import importlib.metadata
import pathlib

from kafka_py.common.metric_name import MetricName
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.utils.sanitizer import Sanitizer
from kafka_py.utils.logging import get_logger
from kafka_py.utils.mbeans import PLATFORM_MBEAN_SERVER

_log = get_logger("org.apache.kafka.common.utils.AppInfoParser")
KAFKA_VERSION = "1.1.1"  # the broker this one behaves like


def _package_version() -> str:
    try:
        return importlib.metadata.version("kafka_py")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def _commit_id() -> str:
    """The commit of the source tree this runs from, 16 digits; "unknown" when installed."""
    git = pathlib.Path(__file__).parents[3] / ".git"
    try:
        head = (git / "HEAD").read_text().strip()
        if head.startswith("ref: "):
            head = (git / head[5:]).read_text().strip()
    except OSError:
        return "unknown"
    return head[:16]


class AppInfoParser:
    """Logs and publishes the version.

    Mirrors: org.apache.kafka.common.utils.AppInfoParser
    Differs: the version is that of the Kafka mirrored, for that is what tools ask for; `kafka_py version` follows it.
    """

    @staticmethod
    def get_version() -> str:
        """The version of Kafka this broker behaves like."""
        return KAFKA_VERSION

    @staticmethod
    def get_kafka_py_version() -> str:
        """The version of this package."""
        return _package_version()

    @staticmethod
    def get_commit_id() -> str:
        """The commit this was built from, if that is known."""
        return _commit_id()

    @staticmethod
    def register_app_info(prefix: str, id: str, metrics: Metrics | None = None) -> None:
        """Log the version and show it as a bean and as two metrics."""
        commit_id = AppInfoParser.get_commit_id()
        PLATFORM_MBEAN_SERVER.register(
            _bean_name(prefix, id), {"Version": AppInfoParser.get_version, "CommitId": lambda: commit_id}
        )
        _log.info("Kafka version : %s", AppInfoParser.get_version())
        _log.info("Kafka commitId : %s", commit_id)
        _log.info("kafka_py version : %s", AppInfoParser.get_kafka_py_version())
        if metrics is not None:
            metrics.add_metric(_metric_name(metrics, "version"), lambda config, now: AppInfoParser.get_version())
            metrics.add_metric(_metric_name(metrics, "commit-id"), lambda config, now: commit_id)

    @staticmethod
    def unregister_app_info(prefix: str, id: str, metrics: Metrics | None = None) -> None:
        """Undo register_app_info."""
        PLATFORM_MBEAN_SERVER.unregister(_bean_name(prefix, id))
        if metrics is not None:
            metrics.remove_metric(_metric_name(metrics, "version"))
            metrics.remove_metric(_metric_name(metrics, "commit-id"))


def _bean_name(prefix: str, id: str) -> str:
    return f"{prefix}:type=app-info,id={Sanitizer.jmx_sanitize(id)}"


def _metric_name(metrics: Metrics, name: str) -> MetricName:
    return metrics.metric_name(name, "app-info", f"Metric indicating {name}")
