"""kafka-configs; ported from Kafka's ConfigCommandTest, and its output to the letter."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from kafka_py.admin.admin_client import AdminClient
from kafka_py.admin.config_command import ConfigCommand, ConfigEntity, Entity, main
from kafka_py.admin.config_command_options import ConfigCommandOptions
from kafka_py.common.errors import IllegalArgumentException, InvalidConfigException
from kafka_py.common.requests.alter_configs_request import AlterConfigsRequest
from kafka_py.common.requests.describe_configs_response import DescribeConfigsResponse
from kafka_py.common.utils.time import Time
from kafka_py.zk.admin_zk_client import AdminZkClient
from kafka_py.zk.kafka_zk_client import KafkaZkClient

Capture = pytest.CaptureFixture[str]
Source = DescribeConfigsResponse.ConfigSource


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.create(zk_connect, False, 6000, 6000, 100, Time.SYSTEM)
    client.create_top_level_paths()
    yield client
    client.close()


@pytest.fixture
def topic(zk: KafkaZkClient) -> str:
    AdminZkClient(zk).create_or_update_topic_partition_assignment_path_in_zk("t", {0: [1]}, {"segment.ms": "7"})
    return "t"


def options(*args: str, check: bool = True) -> ConfigCommandOptions:
    found = ConfigCommandOptions(args)
    if check:
        found.check_args()
    return found


def zk_options(line: str) -> ConfigCommandOptions:
    return options("--zookeeper", "z:1", *line.split())


def alter(zk: KafkaZkClient, line: str) -> None:
    ConfigCommand.alter_config(zk, zk_options("--alter " + line), AdminZkClient(zk))


# -- The command line --------------------------------------------------------------------------------------------------


@pytest.mark.ported("ConfigCommandTest.shouldExitWithNonZeroStatusOnArgError")
@pytest.mark.ported("ConfigCommandTest.shouldExitWithNonZeroStatusOnBrokerCommandError")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--blah", "blah is not a recognized option"),
        ("--describe --entity-type topics", "Only one of --bootstrap-server or --zookeeper must be specified"),
        ("--zookeeper z:1 --describe", "At least one --entity-type must be specified"),
        (
            "--zookeeper z:1 --describe --entity-type not-recognised",
            "Invalid entity-type not-recognised, --entity-type",
        ),
        ("--zookeeper z:1 --describe --entity-type topics --entity-type users", "Only 'users' and 'clients' entity"),
        (
            "--zookeeper z:1 --alter --entity-type topics --add-config a=b",
            "--entity-name must be specified with --alter",
        ),
        (
            "--zookeeper z:1 --alter --entity-type users --add-config a=b",
            "--entity-name or --entity-default must be spe",
        ),
        (
            "--zookeeper z:1 --alter --entity-type topics --entity-name t",
            "At least one of --add-config or --delete-con",
        ),
        (
            "--bootstrap-server b:1 --describe --entity-type brokers",
            "At least one of --entity-name or --entity-default",
        ),
        (
            "--bootstrap-server b:1 --describe --entity-type brokers --entity-type brokers --entity-name 1",
            "Only 'users' and 'clients'",
        ),
    ],
)
def test_wrong_command_lines(capsys: Capture, line: str, message: str) -> None:
    assert main(line.split()) == 1
    assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--zookeeper z:1 --entity-type topics", "Command must include exactly one action: --describe, --alter"),
        ("--zookeeper z:1 --alter --describe --entity-type topics", "Command must include exactly one action: --desc"),
        (
            "--zookeeper z:1 --describe --entity-type topics --add-config a=b",
            'Option "[describe]" can\'t be used with op',
        ),
        ("--bootstrap-server b:1 --describe --entity-type topics", 'Missing required argument "[zookeeper]"'),
        ("", "Show or change the configuration of a topic, client, user or broker"),
    ],
)
def test_usage_is_shown(capsys: Capture, line: str, message: str) -> None:
    with pytest.raises(SystemExit) as raised:
        main(line.split())
    assert raised.value.code == 1
    err = capsys.readouterr().err
    assert err.startswith(message)
    assert "--add-config <String>" in err


@pytest.mark.ported("ConfigCommandTest.shouldParseArgumentsForTopicsEntityType")
@pytest.mark.ported("ConfigCommandTest.shouldParseArgumentsForClientsEntityType")
@pytest.mark.parametrize("kind", ["topics", "clients"])
def test_additions_and_deletions(kind: str) -> None:
    base = ["--zookeeper", "z:1", "--alter", "--entity-name", "x", "--entity-type", kind]
    options(*base[:2], "--describe", *base[3:])
    added = ConfigCommand.parse_configs_to_be_added
    assert added(options(*base, "--add-config", "a=b,c=d")) == {"a": "b", "c": "d"}
    assert added(options(*base, "--add-config", "a = b, c =d")) == {"a": "b", "c": "d"}
    both = options(*base, "--add-config", "a=b,e=[e1,e2]", "--delete-config", "f, g")
    assert added(both) == {"a": "b", "e": "e1,e2"}
    assert ConfigCommand.parse_configs_to_be_deleted(both) == ["f", "g"]
    assert added(options(*base, "--delete-config", "a")) == {}


@pytest.mark.ported("ConfigCommandTest.shouldNotUpdateBrokerConfigIfMalformedConfig")
@pytest.mark.ported("ConfigCommandTest.shouldNotUpdateBrokerConfigIfMalformedBracketConfig")
@pytest.mark.parametrize("malformed", ["a=", "a", "a=[b,c,d=e", "a==b", "a=b=c"])
def test_malformed_additions(malformed: str) -> None:
    opts = options(
        "--zookeeper", "z:1", "--alter", "--entity-type", "brokers", "--entity-name", "1", "--add-config", malformed
    )
    with pytest.raises(IllegalArgumentException, match="Invalid entity config"):
        ConfigCommand.parse_configs_to_be_added(opts)


def test_a_message_format_comes_with_a_warning(capsys: Capture) -> None:
    opts = zk_options("--alter --entity-type topics --entity-name t --add-config message.format.version=0.10.0")
    ConfigCommand.parse_configs_to_be_added(opts)
    assert capsys.readouterr().out.startswith("WARNING: The configuration message.format.version=0.10.0 is specified.")


@pytest.mark.ported("ConfigCommandTest.testUserClientQuotaOpts")
@pytest.mark.parametrize(
    ("line", "user", "client"),
    [
        ("--entity-type users --entity-name A", "users/A", None),
        ("--entity-type users --entity-default", "users/<default>", None),
        ("--entity-type clients --entity-default", "clients/<default>", None),
        ("--entity-type users --entity-name A --entity-type clients --entity-name B", "users/A", "clients/B"),
        ("--entity-type clients --entity-name B --entity-type users --entity-name A", "users/A", "clients/B"),
        ("--entity-type clients --entity-type users --entity-name B --entity-name A", "users/A", "clients/B"),
        ("--entity-type clients --entity-default --entity-type users --entity-name A", "users/A", "clients/<default>"),
        ("--entity-type users --entity-default --entity-type clients --entity-name B", "users/<default>", "clients/B"),
        ("--entity-type users --entity-name CN=x", "users/CN%3Dx", None),
    ],
)
def test_quota_entities(line: str, user: str, client: str | None) -> None:
    entity = ConfigCommand.parse_entity(zk_options(f"--alter {line} --add-config a=b"))
    assert entity.root.entity_path == user
    assert (entity.child.entity_path if entity.child else None) == client
    assert entity.full_sanitized_name == user.split("/")[1] + (f"/{client}" if client else "")


@pytest.mark.ported("ConfigCommandTest.testQuotaConfigEntity")
def test_each_quota_entity_needs_its_name_to_be_altered() -> None:
    opts = zk_options("--alter --entity-type users --entity-name A --entity-type clients --add-config a=b")
    with pytest.raises(IllegalArgumentException, match="must be specified with each --entity-type for --alter"):
        ConfigCommand.parse_entity(opts)


@pytest.mark.parametrize(
    ("entity", "text"),
    [
        (ConfigEntity(Entity("topics", "t"), None), "topic 't'"),
        (ConfigEntity(Entity("topics", None), None), "topics"),
        (ConfigEntity(Entity("brokers", "1"), None), "brokers '1'"),
        (ConfigEntity(Entity("users", "CN%3Dx"), Entity("clients", "c")), "user-principal 'CN=x', client-id 'c'"),
        (ConfigEntity(Entity("users", "<default>"), None), "default user-principal"),
    ],
)
def test_entities_in_words(entity: ConfigEntity, text: str) -> None:
    assert str(entity) == text


@pytest.mark.ported("ConfigCommandTest.testQuotaDescribeEntities")
def test_all_that_an_entity_without_name_stands_for() -> None:
    names = {
        "clients": ["a"],
        "users": ["<default>", "u"],
        "users/<default>/clients": ["c"],
        "users/u/clients": ["c", "d"],
    }
    client: Any = type("Names", (), {"get_all_entities_with_config": staticmethod(lambda path: names.get(path, []))})

    def found(line: str) -> list[str]:
        entity = ConfigCommand.parse_entity(zk_options("--describe " + line))
        return [e.full_sanitized_name for e in entity.get_all_entities(client)]

    assert found("--entity-type clients") == ["a"]
    assert found("--entity-type users") == ["<default>", "u"]
    assert found("--entity-type users --entity-name u --entity-type clients") == ["u/clients/c", "u/clients/d"]
    assert found("--entity-type users --entity-type clients") == ["<default>/clients/c", "u/clients/c", "u/clients/d"]
    assert found("--entity-type users --entity-name x --entity-type clients --entity-name y") == ["x/clients/y"]


# -- Through ZooKeeper -------------------------------------------------------------------------------------------------


@pytest.mark.ported("ConfigCommandTest.shouldAddTopicConfig")
def test_topic_configs(zk: KafkaZkClient, topic: str, capsys: Capture) -> None:
    alter(zk, "--entity-type topics --entity-name t --add-config cleanup.policy=[delete,compact],retention.ms=5")
    assert capsys.readouterr().out == "Completed Updating config for entity: topic 't'.\n"
    expected = {"segment.ms": "7", "cleanup.policy": "delete,compact", "retention.ms": "5"}
    assert zk.get_entity_configs("topics", "t") == expected
    (change,) = zk.get_children("/config/changes")
    data, _ = zk.get_data_and_version(f"/config/changes/{change}")
    assert json.loads(data or b"") == {"version": 2, "entity_path": "topics/t"}
    alter(zk, "--entity-type topics --entity-name t --delete-config segment.ms,retention.ms")
    assert zk.get_entity_configs("topics", "t") == {"cleanup.policy": "delete,compact"}


@pytest.mark.ported("ConfigCommandTest.shouldNotUpdateBrokerConfigIfNonExistingConfigIsDeleted")
def test_what_is_not_set_cannot_be_deleted(zk: KafkaZkClient, topic: str) -> None:
    with pytest.raises(InvalidConfigException, match=r"Invalid config\(s\): a,b"):
        alter(zk, "--entity-type topics --entity-name t --delete-config a,segment.ms,b")
    assert zk.get_entity_configs("topics", "t") == {"segment.ms": "7"}


def test_describe_and_exit_status(zk: KafkaZkClient, topic: str, zk_connect: str, capsys: Capture) -> None:
    line = ["--zookeeper", zk_connect, "--entity-type", "topics"]
    assert main([*line, "--describe"]) == 0
    assert capsys.readouterr().out == "Configs for topic 't' are segment.ms=7\n"
    assert main([*line, "--alter", "--entity-name", "t", "--add-config", "retention.ms=x"]) == 1
    assert "Not a number of type LONG" in capsys.readouterr().err
    assert main([*line, "--alter", "--entity-name", "none", "--add-config", "retention.ms=1"]) == 1
    err = capsys.readouterr().err
    assert err.startswith("Error while executing config command with args '--zookeeper")
    assert err.splitlines()[1:] == ['kafka.admin.AdminOperationException: Topic "none" does not exist.']


def test_users_that_only_have_clients_with_quotas_are_left_out(
    zk: KafkaZkClient, zk_connect: str, capsys: Capture
) -> None:
    alter(
        zk,
        "--entity-type users --entity-name u --entity-type clients --entity-name c --add-config request_percentage=9",
    )
    alter(zk, "--entity-type users --entity-name v --add-config producer_byte_rate=5")
    capsys.readouterr()
    assert main(["--zookeeper", zk_connect, "--describe", "--entity-type", "users"]) == 0
    assert capsys.readouterr().out == "Configs for user-principal 'v' are producer_byte_rate=5\n"


@pytest.mark.ported("ConfigCommandTest.shouldAddBrokerQuotaConfig")
@pytest.mark.ported("ConfigCommandTest.shouldDeleteBrokerConfig")
def test_rates_of_brokers(zk: KafkaZkClient) -> None:
    alter(zk, "--entity-type brokers --entity-name 1 --add-config leader.replication.throttled.rate=10")
    assert zk.get_entity_configs("brokers", "1") == {"leader.replication.throttled.rate": "10"}
    alter(zk, "--entity-type brokers --entity-name 1 --delete-config leader.replication.throttled.rate")
    assert zk.get_entity_configs("brokers", "1") == {}


@pytest.mark.ported("ConfigCommandTest.shouldNotUpdateDynamicBrokerConfigUsingZooKeeper")
@pytest.mark.ported("ConfigCommandTest.shouldNotUpdateBrokerConfigIfMalformedEntityName")
def test_brokers_that_cannot_be_altered_through_zookeeper(zk: KafkaZkClient) -> None:
    with pytest.raises(IllegalArgumentException, match="--bootstrap-server option must be specified"):
        alter(zk, "--entity-type brokers --entity-name 1 --add-config message.max.bytes=100000")
    with pytest.raises(ValueError, match="must be a single integer value"):
        alter(zk, "--entity-type brokers --entity-name 1,2,3 --add-config leader.replication.throttled.rate=10")


@pytest.mark.ported("ConfigCommandTest.testScramCredentials")
def test_passwords_are_salted(zk: KafkaZkClient) -> None:
    alter(zk, "--entity-type users --entity-name u --add-config SCRAM-SHA-256=[iterations=4097,password=pw]")
    alter(zk, "--entity-type users --entity-name u --add-config SCRAM-SHA-512=[password=pw]")
    configs = zk.get_entity_configs("users", "u")
    assert "password" not in str(configs)
    for name, algorithm, iterations in (("SCRAM-SHA-256", "sha256", 4097), ("SCRAM-SHA-512", "sha512", 4096)):
        fields = dict(part.split("=", 1) for part in configs[name].split(","))
        assert int(fields["iterations"]) == iterations
        salted = hashlib.pbkdf2_hmac(algorithm, b"pw", base64.b64decode(fields["salt"]), iterations)
        client_key = hmac.digest(salted, b"Client Key", algorithm)
        assert base64.b64decode(fields["stored_key"]) == hashlib.new(algorithm, client_key).digest()
        assert base64.b64decode(fields["server_key"]) == hmac.digest(salted, b"Server Key", algorithm)


@pytest.mark.ported("ConfigCommandTest.testScramCredentials")
@pytest.mark.parametrize("bad", ["iterations=100,password=pw", "iterations=4096", "pw"])
def test_bad_credentials(zk: KafkaZkClient, bad: str) -> None:
    with pytest.raises(IllegalArgumentException):
        alter(zk, f"--entity-type users --entity-name u --add-config SCRAM-SHA-256=[{bad}]")


# -- Through a broker --------------------------------------------------------------------------------------------------


class FakeAdminClient:
    def __init__(self, *entries: DescribeConfigsResponse.ConfigEntry) -> None:
        self.entries = entries
        self.altered: list[tuple[str, dict[str, str | None]]] = []
        self.closed = False

    def describe_broker_configs(
        self, broker: str, include_synonyms: bool
    ) -> Sequence[DescribeConfigsResponse.ConfigEntry]:
        return self.entries

    def alter_broker_configs(self, broker: str, entries: list[AlterConfigsRequest.ConfigEntry]) -> None:
        self.altered.append((broker, {entry.name: entry.value for entry in entries}))

    def close(self) -> None:
        self.closed = True


def entry(name: str, value: str | None, source: Any) -> DescribeConfigsResponse.ConfigEntry:
    synonym = DescribeConfigsResponse.ConfigSynonym(name, value, source)
    return DescribeConfigsResponse.ConfigEntry(name, value, source, value is None, False, [synonym])


def broker_main(monkeypatch: pytest.MonkeyPatch, client: FakeAdminClient, line: str) -> int:
    monkeypatch.setattr(AdminClient, "create", staticmethod(lambda servers: cast("Any", client)))
    return main(["--bootstrap-server", "b:1", "--entity-type", "brokers", *line.split()])


@pytest.mark.ported("ConfigCommandTest.shouldAddBrokerDynamicConfig")
@pytest.mark.ported("ConfigCommandTest.shouldAddDefaultBrokerDynamicConfig")
@pytest.mark.parametrize(
    ("who", "name", "source", "told"),
    [
        ("--entity-name 1", "1", Source.DYNAMIC_BROKER_CONFIG, "Completed updating config for broker: 1.\n"),
        (
            "--entity-default",
            "",
            Source.DYNAMIC_DEFAULT_BROKER_CONFIG,
            "Completed updating default config for brokers in the cluster,\n",
        ),
    ],
)
def test_altering_keeps_the_other_settings(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, who: str, name: str, source: Any, told: str
) -> None:
    client = FakeAdminClient(
        entry("kept", "1", source), entry("gone", "2", source), entry("static", "3", Source.STATIC_BROKER_CONFIG)
    )
    assert broker_main(monkeypatch, client, f"--alter {who} --add-config new=9 --delete-config gone") == 0
    assert client.altered == [(name, {"kept": "1", "new": "9"})]
    assert capsys.readouterr().out == told
    assert client.closed


def test_secrets_have_to_be_given_again(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    client = FakeAdminClient(entry("password", None, Source.DYNAMIC_BROKER_CONFIG))
    assert broker_main(monkeypatch, client, "--alter --entity-name 1 --add-config new=9") == 1
    assert "All sensitive broker config entries must be specified" in capsys.readouterr().err
    assert broker_main(monkeypatch, client, "--alter --entity-name 1 --add-config password=p") == 0
    assert client.altered == [("1", {"password": "p"})]
    assert broker_main(monkeypatch, client, "--alter --entity-name 1 --delete-config nothing") == 1


def test_describing_a_broker(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    client = FakeAdminClient(
        entry("a", "1", Source.DYNAMIC_BROKER_CONFIG),
        entry("p", None, Source.DYNAMIC_BROKER_CONFIG),
        entry("static", "3", Source.STATIC_BROKER_CONFIG),
        entry("d", "4", Source.DYNAMIC_DEFAULT_BROKER_CONFIG),
    )
    assert broker_main(monkeypatch, client, "--describe --entity-name 1") == 0
    assert capsys.readouterr().out.splitlines() == [
        "Configs for broker 1 are:",
        "  a=1 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:a=1}",
        "  p=null sensitive=true synonyms={DYNAMIC_BROKER_CONFIG:p=null}",
    ]
    assert broker_main(monkeypatch, client, "--describe --entity-default") == 0
    assert capsys.readouterr().out.splitlines() == [
        "Default config for brokers in the cluster are:",
        "  d=4 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:d=4}",
    ]
