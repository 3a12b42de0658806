"""What a request handler's thread keeps for the requests it handles.

Mirrors: core/src/main/scala/kafka/server/RequestLocal.scala @ 3.7.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.record.buffer_supplier import BufferSupplier


class RequestLocal:
    """Holds things that live as long as one request and belong to one thread.

    KafkaApis gets it with each request and passes it on to nobody: 3.7.1's appends take buffers for unpacking from it,
    ours have no use for them. What runs later for a request (KafkaRequestHandler.wrap_async_callback) gets that of the
    thread it runs on.

    Mirrors: kafka.server.RequestLocal @ 3.7.1
    """

    NO_CACHING: ClassVar[RequestLocal]

    __slots__ = ("buffer_supplier",)

    def __init__(self, buffer_supplier: BufferSupplier) -> None:
        self.buffer_supplier = buffer_supplier

    @classmethod
    def with_thread_confined_caching(cls) -> RequestLocal:
        """One whose buffers are used again; for a single thread."""
        return cls(BufferSupplier.create())

    def close(self) -> None:
        """Let the buffers go."""
        self.buffer_supplier.close()


RequestLocal.NO_CACHING = RequestLocal(BufferSupplier.NO_CACHING)
