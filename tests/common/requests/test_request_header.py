"""Headers, and the context that a request is parsed in."""

from __future__ import annotations

import struct

import pytest

from kafka_py.common.errors import InvalidRequestException, SchemaException
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.requests.abstract_response import join_parts
from kafka_py.common.requests.api_versions_request import ApiVersionsRequest
from kafka_py.common.requests.api_versions_response import ApiVersionsResponse
from kafka_py.common.requests.metadata_request import MetadataRequest
from kafka_py.common.requests.request_context import RequestContext
from kafka_py.common.requests.request_header import RequestHeader
from kafka_py.common.requests.response_header import ResponseHeader
from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from tests.common.protocol.golden import golden


def test_headers_of_golden_frames() -> None:
    for message in golden():
        frame = memoryview(message.frame)[4:]
        if message.is_request and ApiKeys.has_id(message.key.id):
            header = RequestHeader.parse(frame)
            assert (header.api_key, header.api_version) == (message.key, message.version), message.id
            assert header.correlation_id == 7
            assert header.client_id == ("" if header.header_version() == 0 else "golden")
            assert bytes(frame[header.size :]) == message.body, message.id
            assert header.to_bytes() + message.body == frame, message.id
            assert header.to_struct().to_bytes() == header.to_bytes()
        elif not message.is_request:
            version = message.key.response_header_version(message.version)
            response_header = ResponseHeader.parse(frame, version)
            assert response_header.correlation_id() == 7
            assert bytes(frame[response_header.size_of() :]) == message.body, message.id
            assert response_header.to_bytes() + message.body == frame


@pytest.mark.ported("RequestHeaderTest.testSerdeControlledShutdownV0")
def test_controlled_shutdown_v0_has_no_client_id() -> None:
    header = RequestHeader(ApiKeys.CONTROLLED_SHUTDOWN, 0, "", 2342)
    assert header.to_bytes() == struct.pack(">hhi", 7, 0, 2342)
    assert header.to_bytes() == header.to_struct().to_bytes()
    parsed = RequestHeader.parse(header.to_bytes())
    assert parsed == header
    assert parsed.size == 8


@pytest.mark.ported("RequestHeaderTest.testRequestHeader")
@pytest.mark.ported("EdgeCaseRequestTest.testProduceRequestWithNullClientId", changes="the header only")
def test_null_client_id_reads_as_empty() -> None:
    data = struct.pack(">hhih", 18, 0, 5, -1)
    assert RequestHeader.parse(data).client_id == ""
    assert RequestHeader(ApiKeys.API_VERSIONS, 0, None, 5).to_bytes() == struct.pack(">hhih", 18, 0, 5, 0)


def test_flexible_header_skips_its_tags() -> None:
    data = struct.pack(">hhih", 18, 3, 5, 2) + b"me" + b"\x01\x05\x03abc" + b"body"
    header = RequestHeader.parse(data)
    assert (header.client_id, data[header.size :]) == ("me", b"body")


@pytest.mark.ported("EdgeCaseRequestTest.testInvalidApiKeyRequest", changes="the header only")
@pytest.mark.parametrize("key", [-1, 44, 32767])
def test_unknown_api_key(key: int) -> None:
    with pytest.raises(InvalidRequestException, match=f"Unknown API key {key}"):
        RequestHeader.parse(struct.pack(">hhih", key, 0, 5, -1))


@pytest.mark.parametrize(
    "data", [b"", b"\0", struct.pack(">hhi", 0, 0, 1), struct.pack(">hhih", 0, 0, 1, 5) + b"abcd", b"\0\x12\0\x03"]
)
def test_malformed_header(data: bytes) -> None:
    with pytest.raises(InvalidRequestException, match="Error parsing request header"):
        RequestHeader.parse(data)


def context(header: RequestHeader) -> RequestContext:
    return RequestContext(
        header, "conn-1", "/127.0.0.1", KafkaPrincipal.ANONYMOUS, ListenerName("SSL"), SecurityProtocol.SASL_SSL
    )


@pytest.mark.ported("RequestContextTest.testSerdeUnsupportedApiVersionRequest")
@pytest.mark.parametrize("version", [4, 32767, -1])
def test_api_versions_request_of_a_version_to_come(version: int) -> None:
    frame = struct.pack(">hhih", 18, version, 56, 2) + b"me" + b"whatever comes then"
    header = RequestHeader.parse(frame)
    assert (header.api_version, header.client_id) == (version, "me")
    request_context = context(header)
    assert request_context.api_version() == 0
    request, size = request_context.parse_request(frame[header.size :])
    assert isinstance(request, ApiVersionsRequest)
    assert size == 0
    assert (request.version(), request.has_unsupported_request_version()) == (0, True)
    exception = Errors.UNSUPPORTED_VERSION.exception()
    assert exception is not None
    response = request.get_error_response(0, exception)
    assert request_context.build_response_send(response).size() == 4 + 4 + 2 + 4 + 6
    written = join_parts(response.to_parts(0))
    assert written == struct.pack(">hihhh", 35, 1, 18, 0, 3)
    assert ApiVersionsResponse.parse(written, 0).error() is Errors.UNSUPPORTED_VERSION


@pytest.mark.ported("RequestContextTest.testInvalidRequestForImplicitHashCollection", changes="any malformed body")
def test_malformed_body() -> None:
    header = RequestHeader(ApiKeys.METADATA, 5, "me", 1)
    with pytest.raises(
        InvalidRequestException,
        match=r"Error getting request for apiKey: METADATA, apiVersion: 5, connectionId: conn-1, "
        r"listenerName: ListenerName\(SSL\), principal: User:ANONYMOUS",
    ) as e:
        context(header).parse_request(b"\0\0\0\x05abc")
    assert isinstance(e.value.__cause__, SchemaException)


def test_unsupported_version_of_another_api() -> None:
    with pytest.raises(InvalidRequestException, match="Error getting request for apiKey: METADATA, apiVersion: 99"):
        context(RequestHeader(ApiKeys.METADATA, 99, "me", 1)).parse_request(b"")


def test_context_parses_and_answers() -> None:
    header = RequestHeader(ApiKeys.METADATA, 1, "me", 9)
    body = b"".join(MetadataRequest(version=1, topics=["t"]).to_parts())
    request_context = context(header)
    request, size = request_context.parse_request(memoryview(body))
    assert isinstance(request, MetadataRequest)
    assert (request.topics, size) == (["t"], len(body))
    response = request.get_error_response(0, Errors.UNKNOWN_TOPIC_OR_PARTITION.exception() or Exception())
    send = request_context.build_response_send(response)
    assert send.destination() == "conn-1"
    assert send.size() == 4 + 4 + len(join_parts(response.to_parts(1)))
    assert (request_context.client_id(), request_context.correlation_id()) == ("me", 9)
    assert (request_context.request_type(), request_context.request_version()) == (3, 1)
    assert "connectionId='conn-1'" in str(request_context)
