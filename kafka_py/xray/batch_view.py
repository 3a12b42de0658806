"""One batch of a log as hex, with each byte's meaning.

Ours, no original. The bytes are those in the file; the layout is told in common/record/default_record_batch.py. A
batch that is too large is shown up to a limit, a compressed one with its records as one field.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

from kafka_py.common.record.compression_type import CompressionType
from kafka_py.common.topic_partition import TopicPartition

if TYPE_CHECKING:
    from kafka_py.server.kafka_server import KafkaServer

MOST_BYTES = 64 * 1024
MOST_RECORDS = 500
_LONGEST_TEXT = 200
_HEADER = (
    ("baseOffset", "q"),
    ("batchLength", "i"),
    ("partitionLeaderEpoch", "i"),
    ("magic", "b"),
    ("crc", "I"),
    ("attributes", "h"),
    ("lastOffsetDelta", "i"),
    ("firstTimestamp", "q"),
    ("maxTimestamp", "q"),
    ("producerId", "q"),
    ("producerEpoch", "h"),
    ("baseSequence", "i"),
    ("recordsCount", "i"),
)
_HEADER_SIZE = 61
_MAGIC_AT = 16
Json = dict[str, Any]


def batch(server: KafkaServer, topic: str, partition: int, offset: int) -> Json:
    """The batch that holds the offset: ``{"offset", "bytes", "hex", "fields": [{name, start, end, value, children}]}``.

    KeyError where there is no such partition or offset, or no log of it on this broker.
    """
    manager = server.replica_manager
    log = None if manager is None else manager.get_log(TopicPartition(topic, partition))
    if log is None:
        raise KeyError("no such partition on this broker")
    if not log.log_start_offset <= offset < log.log_end_offset:
        raise KeyError(f"offset {offset} is not in {log.log_start_offset} to {log.log_end_offset}")
    segment = log.segments.floor_segment(offset)
    place = None if segment is None else segment.translate_offset(offset)
    if segment is None or place is None:
        raise KeyError(f"no batch with offset {offset}")
    size = min(place.size, MOST_BYTES)
    data = bytes(segment.log.read_into(bytearray(size), place.position))
    return {"offset": offset, "bytes": place.size, "hex": data.hex(), "fields": decode(data, place.size)}


class _Short(Exception):
    """The bytes end before the field does."""


class _Reader:
    """Reads fields one after the other.

    Thread: of its maker.
    """

    def __init__(self, data: bytes, at: int) -> None:
        self.data = data
        self.at = at  # thread: of its maker

    def number(self, name: str, form: str) -> Json:
        """A fixed number, big endian."""
        size = struct.calcsize(">" + form)
        start = self._take(size)
        return _field(name, start, self.at, struct.unpack_from(">" + form, self.data, start)[0])

    def varint(self, name: str) -> Json:
        """A zigzag number of one byte or more."""
        start, shift, value = self.at, 0, 0
        while True:
            byte = self.data[self._take(1)]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return _field(name, start, self.at, (value >> 1) ^ -(value & 1))
            if shift > 63:
                raise _Short

    def text(self, name: str, size: int) -> Json:
        """So many bytes as text; None for a negative size, which stands for null."""
        start = self._take(max(0, size))
        value = None if size < 0 else self.data[start : self.at].decode("utf-8", "replace")[:_LONGEST_TEXT]
        return _field(name, start, self.at, value)

    def _take(self, size: int) -> int:
        start = self.at
        if start + size > len(self.data):
            raise _Short
        self.at = start + size
        return start


def _field(name: str, start: int, end: int, value: object, children: list[Json] | None = None) -> Json:
    return {"name": name, "start": start, "end": end, "value": value, "children": children or []}


def decode(data: bytes, size: int | None = None) -> list[Json]:
    """The fields of one batch, in the order of its bytes; ``size`` is that of the whole batch, if data is a part."""
    if len(data) < _HEADER_SIZE or data[_MAGIC_AT] != 2:
        return _legacy(data)
    reader = _Reader(data, 0)
    fields = [reader.number(name, form) for name, form in _HEADER]
    values = {field["name"]: field["value"] for field in fields}
    attributes = fields[5]
    attributes["children"] = _attributes(attributes, values["attributes"])
    if values["attributes"] & 0x07:
        name = f"records ({CompressionType.for_id(values['attributes'] & 0x07).name})"
        return [*fields, _field(name, _HEADER_SIZE, len(data), None)]
    return [*fields, *_records(reader, values)]


def _legacy(data: bytes) -> list[Json]:
    """Of the formats before magic 2 the head alone."""
    forms = (("offset", "q"), ("messageSize", "i"), ("crc", "I"), ("magic", "b"), ("attributes", "b"))
    reader = _Reader(data, 0)
    if len(data) < struct.calcsize(">qiIbb"):
        return [_field("bytes", 0, len(data), None)]
    fields = [reader.number(name, form) for name, form in forms]
    return [*fields, _field("message", reader.at, len(data), None)]


def _attributes(field: Json, bits: int) -> list[Json]:
    start, end = field["start"], field["end"]
    return [
        _field("compression", start, end, CompressionType.for_id(bits & 0x07).name),
        _field("timestampType", start, end, "LogAppendTime" if bits & 0x08 else "CreateTime"),
        _field("isTransactional", start, end, bool(bits & 0x10)),
        _field("isControlBatch", start, end, bool(bits & 0x20)),
    ]


def _records(reader: _Reader, values: Json) -> list[Json]:
    found: list[Json] = []
    while reader.at < len(reader.data) and len(found) < min(values["recordsCount"], MOST_RECORDS):
        start = reader.at
        try:
            children = _record(reader)
        except _Short:
            reader.at = start
            break
        offset = values["baseOffset"] + children[3]["value"]
        found.append(_field("record", start, reader.at, offset, children))
    if reader.at < len(reader.data):
        found.append(_field("more records", reader.at, len(reader.data), None))
    return found


def _record(reader: _Reader) -> list[Json]:
    fields = [reader.varint("length"), reader.number("attributes", "b")]
    fields += [reader.varint("timestampDelta"), reader.varint("offsetDelta")]
    for name in ("key", "value"):
        fields.append(reader.varint(f"{name}Length"))
        fields.append(reader.text(name, fields[-1]["value"]))
    fields.append(reader.varint("headersCount"))
    for _ in range(fields[-1]["value"]):
        for name in ("headerKey", "headerValue"):
            fields.append(reader.varint(f"{name}Length"))
            fields.append(reader.text(name, fields[-1]["value"]))
    return fields
