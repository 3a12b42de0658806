"""What requests and responses have in common.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AbstractRequestResponse.java @ 1.1.1
"""

from __future__ import annotations

from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import Parts


class AbstractRequestResponse:
    """A message that is a header and a body.

    Mirrors: org.apache.kafka.common.requests.AbstractRequestResponse
    """

    __slots__ = ()

    @staticmethod
    def serialize_structs(header_struct: Struct, body_struct: Struct) -> bytes:
        """The bytes of header and body without their size; not for bodies that hold regions of files."""
        out: Parts = []
        header_struct.write_to(out)
        body_struct.write_to(out)
        return b"".join(out)
