"""LogConfig: defaults, overrides, what is refused."""

from __future__ import annotations

import pytest

from kafka_py.common.errors import ConfigException, InvalidConfigurationException
from kafka_py.common.record.timestamp_type import TimestampType
from kafka_py.log.log_config import LogConfig, ThrottledReplicaListValidator


@pytest.mark.ported("LogConfigTest.ensureNoStaticInitializationOrderDependency")
def test_every_option_has_a_broker_option_behind_it() -> None:
    assert len(LogConfig.config_names()) == 24
    assert all(LogConfig.server_config_name(name) for name in LogConfig.config_names())
    assert LogConfig.server_config_name("segment.ms") == "log.roll.ms"
    assert LogConfig.server_config_name("nothing") is None


@pytest.mark.ported("LogConfigTest.testFromPropsEmpty")
def test_defaults() -> None:
    config = LogConfig()
    assert LogConfig({}) == config == LogConfig.apply()
    assert config.segment_size == 1024**3
    assert config.retention_ms == 7 * 24 * 3600 * 1000
    assert (config.delete, config.compact) == (True, False)
    assert config.max_message_size == 1000012
    assert config.message_timestamp_type is TimestampType.CREATE_TIME
    assert config.message_format_version.message_format_version.value == 2
    assert config.random_segment_jitter() == 0


def test_overrides_on_top_of_defaults() -> None:
    config = LogConfig.from_props({"segment.bytes": 100, "retention.ms": 5}, {"segment.bytes": "200"})
    assert (config.segment_size, config.retention_ms) == (200, 5)
    assert config.overridden_configs == {"segment.bytes"}
    assert config.originals()["segment.bytes"] == "200"


SPECIAL = {
    "unclean.leader.election.enable": ["not a boolean"],
    "retention.bytes": ["not_a_number"],
    "retention.ms": ["not_a_number"],
    "cleanup.policy": ["true", "foobar"],
    "min.cleanable.dirty.ratio": ["not_a_number", "-0.1", "1.2"],
    "min.insync.replicas": ["not_a_number", "0", "-1"],
    "message.format.version": [""],
}


@pytest.mark.ported("LogConfigTest.testFromPropsInvalid")
@pytest.mark.parametrize("name", LogConfig.config_names())
def test_bad_values(name: str) -> None:
    for value in SPECIAL.get(name, ["not_a_number", "-1"]):
        with pytest.raises((ConfigException, ValueError, LookupError)):
            LogConfig({name: value})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "segment.bytes",
            "13",
            "Invalid value 13 for configuration segment.bytes: Value must be at least 14",
        ),
        (
            "retention.ms",
            "soon",
            "Invalid value soon for configuration retention.ms: Not a number of type LONG",
        ),
        (
            "cleanup.policy",
            "keep",
            "Invalid value keep for configuration cleanup.policy: String must be one of: compact, delete",
        ),
        (
            "min.cleanable.dirty.ratio",
            "2",
            "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
        ),
    ],
)
def test_messages_are_kafkas(name: str, value: str, message: str) -> None:
    with pytest.raises(ConfigException) as raised:
        LogConfig({name: value})
    assert str(raised.value) == message


def test_validate() -> None:
    LogConfig.validate({"retention.ms": "100"})
    with pytest.raises(InvalidConfigurationException, match=r"^Unknown topic config name: nonsense$"):
        LogConfig.validate({"nonsense": "1"})
    with pytest.raises(ConfigException):
        LogConfig.validate({"retention.ms": "x"})


@pytest.mark.parametrize("name", ["message.format.version", "message.timestamp.type"])
@pytest.mark.parametrize("value", ["", "garbage", "createtime", "0.12"])
def test_values_that_no_broker_could_start_with_are_refused(name: str, value: str) -> None:
    """Once in ZooKeeper they would keep every broker from making the topic's logs, and from starting again."""
    with pytest.raises(ConfigException, match=f"^Invalid value {value} for configuration {name}: "):
        LogConfig.validate({name: value})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("message.format.version", ["0.8.0", "0.10.2", "0.11.0-IV2", "1.1-IV0", "1.1"]),
        ("message.timestamp.type", ["CreateTime", "LogAppendTime"]),
    ],
)
def test_formats_and_timestamp_types(name: str, values: list[str]) -> None:
    for value in values:
        LogConfig.validate({name: value})


@pytest.mark.parametrize(("policy", "compact", "delete"), [("compact", True, False), ("compact,delete", True, True)])
def test_cleanup_policies(policy: str, compact: bool, delete: bool) -> None:
    config = LogConfig({"cleanup.policy": policy})
    assert (config.compact, config.delete) == (compact, delete)


def test_jitter_is_below_its_bound_and_the_segment_time() -> None:
    for ms in (1, 7, 1000):
        config = LogConfig({"segment.jitter.ms": ms, "segment.ms": 500})
        assert all(0 <= config.random_segment_jitter() < min(ms, 500) for _ in range(50))


@pytest.mark.ported("LogConfigTest.shouldValidateThrottledReplicasConfig")
@pytest.mark.parametrize(
    "value",
    ["*", "* ", "", " ", "100:10", "100:10,12:10", "100:10,12:10,15:1", "100:10,12:10,15:1  ", "100:0,"],
)
def test_throttled_replicas(value: str) -> None:
    ThrottledReplicaListValidator.ensure_valid_string("name", value)
    assert isinstance(LogConfig({"leader.replication.throttled.replicas": value}), LogConfig)


@pytest.mark.parametrize(
    "value",
    ["100", "100:", "100:0,10", "100:0,10:", "100:0,10:   ", "100 :0,10:   ", "100: 0,10:   ", "100:0,10 :   "],
)
def test_bad_throttled_replicas(value: str) -> None:
    with pytest.raises(ConfigException):
        ThrottledReplicaListValidator.ensure_valid_string("name", value)


def test_documentation_table(capsys: pytest.CaptureFixture[str]) -> None:
    LogConfig.main()
    out = capsys.readouterr().out
    assert "Server Default Property" in out
    assert "log.index.interval.bytes" in out
