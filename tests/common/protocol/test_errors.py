"""Codes and exceptions."""

from __future__ import annotations

import inspect
import logging
import pickle

import pytest

from kafka_py.common import errors
from kafka_py.common.protocol.errors import Errors


@pytest.mark.ported("ErrorsTest.testUniqueErrorCodes")
def test_codes_of_1_1_1_and_some_later_ones() -> None:
    codes = [error.code for error in Errors.values()]
    assert codes == list(range(-1, 89))
    assert all(Errors.for_code(code).code == code for code in codes)


@pytest.mark.ported("ErrorsTest.testUniqueExceptions")
def test_every_error_has_its_own_exception() -> None:
    classes = [type(error.exception()) for error in Errors.values() if error is not Errors.NONE]
    assert len(set(classes)) == len(classes)


@pytest.mark.ported("ErrorsTest.testExceptionsAreNotGeneric")
@pytest.mark.ported("ErrorsTest.testNoneException")
def test_every_error_but_none_has_an_exception() -> None:
    for error in Errors.values():
        exception = error.exception()
        if error is Errors.NONE:
            assert exception is None
        else:
            assert exception is not None
            assert type(exception) is not errors.ApiException
            assert str(exception) == error.message()
    Errors.NONE.maybe_throw()


@pytest.mark.ported("ErrorsTest.testForExceptionInheritance")
def test_error_of_an_exception_of_a_derived_class() -> None:
    class ExtendedTimeoutException(errors.TimeoutException):
        """A timeout of some kind."""

    assert Errors.for_exception(ExtendedTimeoutException()) is Errors.for_exception(errors.TimeoutException())


@pytest.mark.ported("ErrorsTest.testForExceptionDefault")
def test_error_of_an_unknown_exception() -> None:
    assert Errors.for_exception(errors.ApiException()) is Errors.UNKNOWN_SERVER_ERROR
    assert Errors.for_exception(OSError()) is Errors.UNKNOWN_SERVER_ERROR


@pytest.mark.ported("ErrorsTest.testExceptionName")
def test_exception_name() -> None:
    assert Errors.UNKNOWN_SERVER_ERROR.exception_name() == "org.apache.kafka.common.errors.UnknownServerException"
    assert Errors.NONE.exception_name() is None
    assert Errors.INVALID_TOPIC_EXCEPTION.exception_name() == "org.apache.kafka.common.errors.InvalidTopicException"


def test_exception_with_its_own_message() -> None:
    exception = Errors.INVALID_REQUEST.exception("because")
    assert isinstance(exception, errors.InvalidRequestException)
    assert str(exception) == "because"
    assert Errors.INVALID_REQUEST.exception() is not Errors.INVALID_REQUEST.exception()


def test_invalid_record_is_answered_as_corrupt_as_in_1_1_1() -> None:
    assert Errors.for_exception(errors.InvalidRecordException("x")) is Errors.CORRUPT_MESSAGE
    assert isinstance(Errors.for_code(87).exception(), errors.InvalidRecordException)


def test_unknown_code(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert Errors.for_code(9999) is Errors.UNKNOWN_SERVER_ERROR
    assert "Unexpected error code: 9999." in caplog.text


def test_maybe_throw() -> None:
    with pytest.raises(errors.NotLeaderForPartitionException, match="not the leader"):
        Errors.NOT_LEADER_FOR_PARTITION.maybe_throw()


def test_copies_are_the_same_object() -> None:
    assert pickle.loads(pickle.dumps(Errors.NONE)) is Errors.NONE


def test_exceptions_take_a_message_and_a_cause() -> None:
    cause = OSError("disk")
    for name, cls in inspect.getmembers(errors, inspect.isclass):
        if issubclass(cls, errors.RuntimeException) and cls.__init__ is errors.RuntimeException.__init__:
            exception = cls("text", cause)
            assert (str(exception), exception.__cause__) == ("text", cause), name
            assert str(cls()) == "", name
            assert str(cls(None, cause)) == "disk", name


def test_messages_of_exceptions_that_carry_more() -> None:
    assert str(errors.TopicAuthorizationException("t")) == "Not authorized to access topics: [t]"
    assert errors.TopicAuthorizationException({"a", "b"}).unauthorized_topics() == {"a", "b"}
    assert str(errors.GroupAuthorizationException("g")) == "Not authorized to access group: g"
    assert str(errors.ConfigException("k", None, "is missing")) == "Invalid value null for configuration k: is missing"
    assert str(errors.ConfigException("all of it")) == "all of it"
    assert str(errors.TooManyConnectionsException("/1.2.3.4", 2)) == "Too many connections from /1.2.3.4 (maximum = 2)"
    quota = errors.QuotaViolationException("rate", 2.0, 1.0)
    assert str(quota) == "'rate' violated quota. Actual: 2.000000, Threshold: 1.000000"
    assert (quota.metric_name(), quota.value(), quota.bound()) == ("rate", 2.0, 1.0)
