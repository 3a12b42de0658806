"""server.properties as KafkaConfig reads it."""

from __future__ import annotations

import csv
import logging
import pathlib
from typing import Any

import pytest

from kafka_py.api.api_version import ApiVersion
from kafka_py.common.errors import ConfigException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.utils.utils import load_props
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.server.kafka_config_keys import KafkaConfigKeys
from kafka_py.server.kafka_config_options import KafkaConfigOptions, Option

ROOT = pathlib.Path(__file__).parents[2]


def config(**props: Any) -> KafkaConfig:
    """Keyword arguments with __ for the dots; zookeeper.connect and broker.id are there."""
    given = {name.replace("__", "."): str(value) for name, value in props.items()}
    return KafkaConfig.from_props({"zookeeper.connect": "localhost:2181", "broker.id": "1", **given}, do_log=False)


def refused(**props: Any) -> str:
    with pytest.raises((ConfigException, ValueError)) as e:
        config(**props)
    return str(e.value).removeprefix("requirement failed: ")


def test_the_table_has_all_options_of_kafka_and_eight_newer_ones_and_ours() -> None:
    names = KafkaConfig.CONFIG_DEF.names()
    ours = {name for name in names if name.startswith("kafka.py.")}
    assert ours == {
        "kafka.py.http.listener",
        "kafka.py.cpu.affinity",
        "kafka.py.xray",
        "kafka.py.xray.schedule",
        "kafka.py.xray.sidebyside",
        "kafka.py.xray.token",
        "kafka.py.api.level",
    }
    newer = {
        "socket.listen.backlog.size",
        "max.connections",
        "max.connection.creation.rate",
        "connection.failed.authentication.delay.ms",
        "control.plane.listener.name",
        "early.start.listeners",
        "transaction.partition.verification.enable",
        "group.max.size",
    }
    assert newer <= names
    assert len(names - ours - newer) == 171


def test_every_option_has_a_constant_an_importance_and_a_sentence() -> None:
    constants = {value for name, value in vars(KafkaConfigKeys).items() if name.isupper() and isinstance(value, str)}
    for key in KafkaConfig.config_keys().values():
        assert key.name in constants
        assert len(key.documentation) > 10
    assert isinstance(vars(KafkaConfigOptions)["num_io_threads"], Option)


def test_defaults() -> None:
    c = KafkaConfig({"zookeeper.connect": "z"}, do_log=False)
    assert (c.num_network_threads, c.num_io_threads, c.background_threads, c.queued_max_requests) == (3, 8, 10, 500)
    assert (c.socket_send_buffer_bytes, c.socket_receive_buffer_bytes) == (-1, -1)
    assert c.log_dirs == ["/tmp/kafka-logs"]
    assert c.broker_id == -1
    assert c.zk_connection_timeout_ms == c.zk_session_timeout_ms == 6000
    assert c.log_retention_time_millis == 7 * 24 * 3600 * 1000
    assert c.log_roll_time_millis == 7 * 24 * 3600 * 1000
    assert c.log_message_format_version == ApiVersion.apply("2.5-IV0")
    assert c.offsets_topic_compression_codec is CompressionType.NONE
    assert c.http_listener == "127.0.0.1:9404"
    assert [str(e) for e in c.listeners] == ["EndPoint(null,9092,ListenerName(PLAINTEXT),PLAINTEXT)"]
    assert c.rack is None
    assert not c.token_auth_enabled


@pytest.mark.ported("KafkaConfigTest.testLogRetentionTimeHoursProvided")
@pytest.mark.ported("KafkaConfigTest.testLogRetentionTimeBothMinutesAndMsProvided")
@pytest.mark.ported("KafkaConfigTest.testLogRetentionUnlimited")
@pytest.mark.parametrize(
    ("props", "millis"),
    [
        ({"log__retention__hours": 1}, 3600_000),
        ({"log__retention__minutes": 30}, 1800_000),
        ({"log__retention__ms": 1800_000}, 1800_000),
        ({"log__retention__minutes": 30, "log__retention__hours": 1}, 1800_000),
        ({"log__retention__ms": 1800_000, "log__retention__minutes": 10, "log__retention__hours": 1}, 1800_000),
        ({"log__retention__ms": -1}, -1),
        ({"log__retention__minutes": -1}, -1),
        ({"log__retention__hours": -1}, -1),
        ({"log__retention__ms": -1, "log__retention__minutes": 10}, -1),
    ],
)
def test_log_retention(props: dict[str, Any], millis: int) -> None:
    assert config(**props).log_retention_time_millis == millis


@pytest.mark.ported("KafkaConfigTest.testLogRetentionValid")
def test_log_retention_of_zero_is_refused() -> None:
    for name in ("ms", "minutes", "hours"):
        assert refused(**{f"log__retention__{name}": 0}).startswith("log.retention.ms must be unlimited (-1) or,")


@pytest.mark.ported("KafkaConfigTest.testLogRollTimeMsProvided")
@pytest.mark.ported("KafkaConfigTest.testLogRollTimeBothMsAndHoursProvided")
def test_log_roll_synonyms() -> None:
    assert config(log__roll__ms=1800_000, log__roll__hours=1).log_roll_time_millis == 1800_000
    assert config(log__roll__hours=1).log_roll_time_millis == 3600_000
    assert config(log__roll__jitter__hours=1).log_roll_time_jitter_millis == 3600_000
    assert config(log__flush__scheduler__interval__ms=5).log_flush_interval_ms == 5
    assert config(log__dirs="/a, /b", log__dir="/c").log_dirs == ["/a", "/b"]
    assert config(log__dir="/c").log_dirs == ["/c"]


@pytest.mark.ported("KafkaConfigTest.testAdvertiseDefaults")
@pytest.mark.ported("KafkaConfigTest.testAdvertisePortDefault")
@pytest.mark.ported("KafkaConfigTest.testAdvertiseHostNameDefault")
@pytest.mark.parametrize(
    ("props", "host", "port"),
    [
        ({"host__name": "fake-host", "port": 9999}, "fake-host", 9999),
        ({"advertised__host__name": "routable", "advertised__port": 1234}, "routable", 1234),
        ({"advertised__host__name": "routable", "port": 9999}, "routable", 9999),
        ({"host__name": "fake-host", "advertised__port": 9999}, "fake-host", 9999),
        ({"listeners": "PLAINTEXT://a:1", "advertised__listeners": "PLAINTEXT://b:2"}, "b", 2),
    ],
)
def test_what_is_advertised(props: dict[str, Any], host: str, port: int) -> None:
    [end_point] = config(**props).advertised_listeners
    assert (end_point.host, end_point.port) == (host, port)


@pytest.mark.ported("KafkaConfigTest.testDuplicateListeners")
@pytest.mark.ported("KafkaConfigTest.testBadListenerProtocol")
def test_bad_listeners() -> None:
    assert "Each listener must have a different port" in refused(
        listeners="PLAINTEXT://localhost:9091,TRACE://localhost:9091",
        listener__security__protocol__map="PLAINTEXT:PLAINTEXT,TRACE:PLAINTEXT",
    )
    assert "Each listener must have a different name" in refused(
        listeners="PLAINTEXT://localhost:9091,PLAINTEXT://localhost:9092"
    )
    assert refused(listeners="FOO://localhost:9092").endswith("No security protocol defined for listener FOO")


@pytest.mark.ported("KafkaConfigTest.testCaseInsensitiveListenerProtocol")
@pytest.mark.ported("KafkaConfigTest.testListenerNamesWithAdvertisedListenerUnset")
def test_listener_names() -> None:
    c = config(
        listeners="CLIENT://localhost:9091,replication://localhost:9092",
        listener__security__protocol__map="CLIENT:SASL_SSL,REPLICATION:ssl",
        inter__broker__listener__name="Replication",
    )
    assert [e.security_protocol for e in c.listeners] == [SecurityProtocol.SASL_SSL, SecurityProtocol.SSL]
    assert c.inter_broker_listener_name == ListenerName("REPLICATION")
    assert c.inter_broker_security_protocol is SecurityProtocol.SSL
    assert c.data_plane_listeners == c.listeners
    assert c.control_plane_listener is None


def test_control_plane_listener() -> None:
    listeners = {
        "listeners": "PLAINTEXT://localhost:9091,CONTROLLER://localhost:9092",
        "listener__security__protocol__map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    c = config(**listeners, control__plane__listener__name="CONTROLLER")
    assert c.control_plane_listener is not None
    assert c.control_plane_listener.port == 9092
    assert [e.port for e in c.data_plane_listeners] == [9091]
    small = config(**listeners, control__plane__listener__name="controller")
    assert (small.control_plane_listener, small.data_plane_listeners) == (
        c.control_plane_listener,
        c.data_plane_listeners,
    )
    assert c.control_plane_security_protocol is SecurityProtocol.PLAINTEXT
    assert "should have a different value from the inter broker listener name" in refused(
        **listeners, control__plane__listener__name="PLAINTEXT"
    )
    assert refused(control__plane__listener__name="X") == (
        "Listener with X defined in control.plane.listener.name not found in listener.security.protocol.map."
    )
    assert config(**listeners, early__start__listeners="CONTROLLER").early_start_listeners == {
        ListenerName("CONTROLLER")
    }
    assert "contains listener Y" in refused(**listeners, early__start__listeners="Y")


@pytest.mark.ported("KafkaConfigTest.testListenerAndAdvertisedListenerNames")
@pytest.mark.ported("KafkaConfigTest.testListenerNameMissingFromListenerSecurityProtocolMap")
@pytest.mark.ported("KafkaConfigTest.testInterBrokerListenerNameAndSecurityProtocolSet")
@pytest.mark.parametrize(
    ("props", "message"),
    [
        ({"broker__id": -2}, "broker.id must be equal or greater than -1 and not greater than reserved.broker.max.id"),
        ({"broker__id": 1001}, "broker.id must be equal or greater than -1 and not greater than reserved"),
        ({"broker__id": -1, "broker__id__generation__enable": "false"}, "broker.id must be equal or greater than 0"),
        ({"log__roll__ms": 0}, "log.roll.ms must be equal or greater than 1"),
        ({"log__roll__jitter__ms": -1}, "log.roll.jitter.ms must be equal or greater than 0"),
        ({"log__dirs": ""}, "At least one log directory must be defined via log.dirs or log.dir."),
        (
            {"log__cleaner__dedupe__buffer__size": 1048576},
            "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.",
        ),
        (
            {"replica__fetch__wait__max__ms": 40000, "replica__lag__time__max__ms": 50000},
            "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms"
            " to prevent unnecessary socket timeouts",
        ),
        (
            {"replica__fetch__wait__max__ms": 20000},
            "replica.fetch.wait.max.ms should always be less than or equal to replica.lag.time.max.ms"
            " to prevent frequent changes in ISR",
        ),
        (
            {"offsets__commit__required__acks": -2},
            "offsets.commit.required.acks must be greater or equal -1 and less or equal to "
            "offsets.topic.replication.factor",
        ),
        (
            {"compression__type": "abc"},
            "compression.type : abc is not valid. Valid options are uncompressed,snappy,lz4,gzip,producer",
        ),
        (
            {"listeners": "SSL://a:1"},
            "inter.broker.listener.name must be a listener name defined in advertised.listeners. "
            "The valid options based on currently configured listeners are SSL",
        ),
        (
            {"listeners": "PLAINTEXT://a:1", "advertised__listeners": "PLAINTEXT://a:1,SSL://a:2"},
            "advertised.listeners listener names must be equal to or a subset of the ones defined in listeners. "
            "Found PLAINTEXT,SSL. The valid options based on the current configuration are PLAINTEXT",
        ),
        (
            {"advertised__listeners": "PLAINTEXT://0.0.0.0:9092"},
            "advertised.listeners cannot use the nonroutable meta-address 0.0.0.0. Use a routable IP address.",
        ),
        (
            {"inter__broker__protocol__version": "0.10.0", "log__message__format__version": "0.11.0"},
            "log.message.format.version 0.11.0 can only be used when inter.broker.protocol.version is set to version "
            "0.11.0 or higher",
        ),
        (
            {
                "listeners": "SASL_PLAINTEXT://a:1",
                "security__inter__broker__protocol": "SASL_PLAINTEXT",
                "inter__broker__protocol__version": "0.9.0",
                "log__message__format__version": "0.9.0",
                "sasl__mechanism__inter__broker__protocol": "PLAIN",
            },
            "Only GSSAPI mechanism is supported for inter-broker communication with SASL when "
            "inter.broker.protocol.version is set to 0.9.0",
        ),
        (
            {
                "listeners": "SASL_PLAINTEXT://a:1",
                "security__inter__broker__protocol": "SASL_PLAINTEXT",
                "sasl__mechanism__inter__broker__protocol": "PLAIN",
            },
            "sasl.mechanism.inter.broker.protocol must be included in sasl.enabled.mechanisms when SASL is used for "
            "inter-broker communication",
        ),
        (
            {"queued__max__request__bytes": 1000},
            "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
        ),
        (
            {"inter__broker__listener__name": "X", "security__inter__broker__protocol": "SSL"},
            "Only one of inter.broker.listener.name and security.inter.broker.protocol should be set.",
        ),
        (
            {"inter__broker__listener__name": "X"},
            "Listener with name X defined in inter.broker.listener.name not found in listener.security.protocol.map.",
        ),
        (
            {"security__inter__broker__protocol": "nope"},
            "Invalid security protocol `nope` defined in security.inter.broker.protocol",
        ),
        ({"connection__failed__authentication__delay__ms": 600000}, "connection.failed.authentication.delay.ms=600000"),
        ({"num__network__threads": 0}, "Invalid value 0 for configuration num.network.threads: Value must be at least"),
        ({"max__connections__per__ip__overrides": "127.0.0.0#100"}, "Error parsing configuration property"),
        ({"inter__broker__protocol__version": "0.7"}, "Version `0.7` is not a valid version"),
    ],
)
def test_checks_speak_kafkas_words(props: dict[str, Any], message: str) -> None:
    assert refused(**props).startswith(message)


@pytest.mark.ported("KafkaConfigTest.testFromPropsInvalid")
def test_every_number_refuses_text() -> None:
    for key in KafkaConfig.config_keys().values():
        if key.type.name in ("INT", "LONG", "SHORT", "DOUBLE", "BOOLEAN"):
            with pytest.raises(ConfigException, match=key.name):
                config(**{key.name: "not_a_number"})


@pytest.mark.ported("KafkaConfigTest.testMaxConnectionsPerIpProp")
@pytest.mark.ported("KafkaConfigTest.testSpecificProperties")
def test_specific_properties() -> None:
    c = config(
        zookeeper__connect="127.0.0.1:2181",
        host__name="127.0.0.1",
        max__connections__per__ip__overrides="127.0.0.1:2, 127.0.0.2:3",
        offsets__topic__compression__codec=2,
        metric__reporters="",
        broker__rack="r1",
        delegation__token__master__key="secret",
        kafka__py__http__listener="none",
    )
    assert c.max_connections_per_ip_overrides == {"127.0.0.1": 2, "127.0.0.2": 3}
    assert c.offsets_topic_compression_codec is CompressionType.SNAPPY
    assert c.rack == "r1"
    assert c.token_auth_enabled
    assert c.http_listener == "none"


@pytest.mark.ported("KafkaConfigTest.testUncleanLeaderElectionInvalid")
def test_booleans() -> None:
    assert config(unclean__leader__election__enable="true").unclean_leader_election_enable
    assert not config().unclean_leader_election_enable
    assert "Expected value to be either true or false" in refused(unclean__leader__election__enable="invalid")


def test_unknown_options_are_warned_about(caplog: pytest.LogCaptureFixture) -> None:
    c = config(
        some__thing="1",
        listener__name__internal__ssl__keystore__location="/k",
        **{"listener.name.internal.plain.sasl.jaas.config": "x", "listener.name.internal.odd": "1"},
    )
    assert c.unused() == {"some.thing", "listener.name.internal.odd"}
    with caplog.at_level(logging.WARNING):
        c.log_unused()
    assert "The configuration 'some.thing' was supplied but isn't a known config." in caplog.messages


@pytest.mark.ported("KafkaConfigTest.testVersionConfiguration")
def test_versions() -> None:
    c = config(inter__broker__protocol__version="0.8.2.0", log__message__format__version="0.8.2.0")
    assert c.inter_broker_protocol_version == ApiVersion.apply("0.8.2")
    assert c.log_message_format_version_string == "0.8.2.0"
    assert not c.sasl_inter_broker_handshake_request_enable


def test_dynamic_attributes_follow_and_fixed_ones_stay() -> None:
    c = config()
    newer = config(num__io__threads=16, num__partitions=9, log__roll__ms=77)
    c.update_current_config(newer)
    assert c.num_io_threads == 16
    assert c.num_partitions == 1
    assert c.log_roll_time_millis == 77
    assert c.values()["num.partitions"] == 9
    assert c.originals()["num.io.threads"] == "16"
    assert "num.io.threads" not in c.originals_from_this_config()


def test_the_shipped_file_is_good_and_leaves_socket_buffers_alone() -> None:
    props = load_props(ROOT / "config" / "server.properties")
    c = KafkaConfig.from_props(props, do_log=False)
    assert c.unused() == set()
    assert c.broker_id == 0
    assert c.socket_send_buffer_bytes == -1
    assert c.group_initial_rebalance_delay == 0


def test_the_mirror_table_knows_the_attributes() -> None:
    with (ROOT / "docs/scala-1.1.1.tsv").open() as file:
        names = {row[3] for row in csv.reader(file, delimiter="\t") if row[0].endswith("server/KafkaConfig.scala")}
    assert {"numIoThreads", "logRetentionTimeMillis", "interBrokerListenerName"} <= names


def test_main_prints_the_documentation(capsys: pytest.CaptureFixture[str]) -> None:
    KafkaConfig.main()
    assert "<td>zookeeper.connect</td>" in capsys.readouterr().out
