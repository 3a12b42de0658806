"""What a tool shows of an error: a line as Java writes it, and the stack where nobody expected it."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaError
from confluent_kafka import KafkaException as ClientException

from kafka_py.common import errors
from kafka_py.common.utils import throwables
from kafka_py.utils.json import JsonProcessingException
from kafka_py.zookeeper.keeper_exception import Code, NoNodeException
from kafka_py.zookeeper.zoo_keeper_client import ZooKeeperClientTimeoutException


def raised(e: BaseException, cause: BaseException | None = None) -> BaseException:
    """The exception with a stack of its own, as it is when it is caught."""
    with pytest.raises(type(e)) as caught:
        raise e from cause
    return caught.value


@pytest.mark.parametrize(
    ("e", "line"),
    [
        (
            errors.TopicExistsException("Topic 't' already exists."),
            "org.apache.kafka.common.errors.TopicExistsException",
        ),
        (errors.AdminOperationException("no"), "kafka.admin.AdminOperationException"),
        (errors.AdminCommandFailedException("no"), "kafka.common.AdminCommandFailedException"),
        (errors.InvalidConfigException("no"), "kafka.common.InvalidConfigException"),
        (errors.ConfigException("no"), "org.apache.kafka.common.config.ConfigException"),
        (errors.IllegalArgumentException("no"), "java.lang.IllegalArgumentException"),
        (errors.KafkaException("no"), "org.apache.kafka.common.KafkaException"),
        (JsonProcessingException("no"), "com.fasterxml.jackson.core.JsonProcessingException"),
        (NoNodeException(Code.NONODE, "/a"), "org.apache.zookeeper.KeeperException$NoNodeException"),
        (ZooKeeperClientTimeoutException("no"), "kafka.zookeeper.ZooKeeperClientTimeoutException"),
        (FileNotFoundError(2, "No such file or directory", "/x"), "FileNotFoundError"),
        (ClientException(KafkaError(-195)), "KafkaException"),
    ],
)
def test_what_is_raised_on_purpose_is_one_line(e: Exception, line: str) -> None:
    assert throwables.stack_trace(raised(e)) == f"{line}: {e}\n"


def test_without_a_message() -> None:
    assert throwables.stack_trace(errors.KafkaException()) == "org.apache.kafka.common.KafkaException\n"


@pytest.mark.parametrize("e", [KeyError("x"), ValueError("x"), errors.IllegalStateException("x"), AssertionError("x")])
def test_the_unexpected_shows_its_stack(e: Exception) -> None:
    text = throwables.stack_trace(raised(e))
    assert text.startswith("Traceback (most recent call last):\n")
    assert "in raised\n" in text


def test_causes_follow() -> None:
    outer = errors.AdminOperationException("Error while deleting topic t")
    text = throwables.stack_trace(raised(outer, NoNodeException(Code.NONODE)))
    assert text.splitlines()[1:] == [
        "Caused by: org.apache.zookeeper.KeeperException$NoNodeException: KeeperErrorCode = NoNode"
    ]
    text = throwables.stack_trace(raised(outer, raised(KeyError("t"))))
    assert "Caused by: Traceback (most recent call last):\n" in text


def test_what_ends_a_main(capsys: pytest.CaptureFixture[str]) -> None:
    throwables.print_uncaught(errors.ConfigException("No"))
    assert capsys.readouterr().err == (
        'Exception in thread "main" org.apache.kafka.common.config.ConfigException: No\n'
    )
