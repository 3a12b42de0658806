"""Every request and response class reads what others wrote and writes the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_py.common.errors import InvalidRecordException, SchemaException
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.abstract_response import join_parts
from tests.common.protocol.golden import ALL_KEYS, Golden, golden, golden_of

# Bodies that are read into sets, so that their order may change.
UNORDERED = {"DeleteTopicsRequest"}


def messages(key: ApiKeys, requests: bool) -> Iterator[Golden]:
    for message in golden_of(key):
        # A null record set is refused in requests, and read as an empty one in responses.
        null_records = key in (ApiKeys.PRODUCE, ApiKeys.FETCH) and message.id.endswith(".nulls")
        if message.is_request == requests and not null_records:
            yield message


def parsed(message: Golden) -> AbstractRequest:
    request: AbstractRequest = message.message_class.parse(message.body, message.version)
    return request


def same(message: Golden, written: bytes) -> bool:
    if message.id.split(".")[0] in UNORDERED:
        return sorted(written) == sorted(message.body)
    return written == message.body


@pytest.mark.ported("RequestResponseTest.testSerialization")
@pytest.mark.parametrize("key", ALL_KEYS, ids=lambda k: k.name)
def test_requests(key: ApiKeys) -> None:
    for message in messages(key, requests=True):
        request = parsed(message)
        assert request.version() == message.version
        if key.is_version_supported(message.version):
            assert type(AbstractRequest.parse_request(key, message.version, message.body)) is type(request)
        assert same(message, join_parts(request.to_parts())), message.id
        assert same(message, request.to_struct().to_bytes()), message.id


@pytest.mark.ported("RequestResponseTest.testSerialization")
@pytest.mark.parametrize("key", ALL_KEYS, ids=lambda k: k.name)
def test_responses(key: ApiKeys) -> None:
    for message in messages(key, requests=False):
        response = key.response_class().parse(message.body, message.version)
        assert same(message, join_parts(response.to_parts(message.version))), message.id
        assert same(message, response.to_struct(message.version).to_bytes()), message.id
        assert sum(response.error_counts().values()) >= 0


@pytest.mark.ported("RequestResponseTest.checkErrorResponse")
@pytest.mark.parametrize("key", ALL_KEYS, ids=lambda k: k.name)
def test_error_responses(key: ApiKeys) -> None:
    error = Errors.CLUSTER_AUTHORIZATION_FAILED
    exception = error.exception()
    assert exception is not None
    for message in messages(key, requests=True):
        request = parsed(message)
        response = request.get_error_response(123, exception)
        if response is None:
            assert message.id.startswith("ProduceRequest")  # acks=0 is not answered
            continue
        written = join_parts(response.to_parts(message.version))
        read = key.response_class().parse(written, message.version)
        assert set(read.error_counts()) <= {error}, message.id
        if message.id.endswith(".typical") and key is not ApiKeys.DESCRIBE_LOG_DIRS:
            assert error in request.error_counts(exception), message.id
            if not (key is ApiKeys.OFFSET_FETCH and message.version < 2):
                assert error in read.error_counts() or key in (ApiKeys.FETCH,), message.id


@pytest.mark.parametrize("key", [ApiKeys.PRODUCE, ApiKeys.FETCH], ids=lambda k: k.name)
def test_every_strict_prefix_of_flat_codecs_raises(key: ApiKeys) -> None:
    for message in messages(key, requests=True):
        if message.id.endswith(".typical"):
            for cut in range(len(message.body)):
                with pytest.raises((SchemaException, InvalidRecordException)):
                    AbstractRequest.parse_request(key, message.version, message.body[:cut])


@pytest.mark.parametrize("key", [ApiKeys.PRODUCE, ApiKeys.FETCH], ids=lambda k: k.name)
def test_flat_codecs_ignore_bytes_behind_the_last_field(key: ApiKeys) -> None:
    for message in messages(key, requests=True):
        request = AbstractRequest.parse_request(key, message.version, message.body + b"more")
        assert join_parts(request.to_parts()) == message.body, message.id


@pytest.mark.parametrize("key", ALL_KEYS, ids=lambda k: k.name)
def test_requests_in_words(key: ApiKeys) -> None:
    for message in messages(key, requests=True):
        request = parsed(message)
        assert str(request).startswith("{"), message.id
        assert request.to_string(False).startswith("{"), message.id


WITH_TAGS = {"ApiVersionsResponse.v3.typical", "ApiVersionsResponse.v3.nulls"}  # the features of newer clusters
FLEXIBLE = [message for message in golden() if message.schema.is_flexible and message.id not in WITH_TAGS]


@pytest.mark.parametrize("message", FLEXIBLE, ids=lambda m: m.id)
def test_unknown_tags_are_kept(message: Golden) -> None:
    assert message.body.endswith(b"\0")
    tagged = message.body[:-1] + b"\2\x7f\3abc\xac\2\0"  # tags 127 and 300 at the end of the message
    read = message.message_class.parse(tagged, message.version)
    written = read.to_parts() if message.is_request else read.to_parts(message.version)
    assert join_parts(written) == tagged
    assert [tag.data for tag in read.unknown_tagged_fields().values()] == [b"abc", b""]
