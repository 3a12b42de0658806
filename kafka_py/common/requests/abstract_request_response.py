"""What requests and responses have in common.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AbstractRequestResponse.java @ 1.1.1
"""

from __future__ import annotations


class AbstractRequestResponse:
    """A message that is a header and a body.

    Mirrors: org.apache.kafka.common.requests.AbstractRequestResponse
    """

    __slots__ = ()
