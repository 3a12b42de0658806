"""The error after which the process must end.

Mirrors: clients/src/main/java/org/apache/kafka/common/internals/FatalExitError.java @ 1.1.1
"""

from __future__ import annotations


class FatalExitError(BaseException):
    """Ends the process, not just the request; the thread's outermost loop turns it into `Exit.exit`.

    Mirrors: org.apache.kafka.common.internals.FatalExitError
    Differs: derives from BaseException as Java's derives from Error, so a request's `except Exception` lets it pass.
    """

    def __init__(self, status_code: int = 1) -> None:
        if status_code == 0:
            raise ValueError("statusCode must not be 0")
        super().__init__(status_code)
        self.status_code = status_code
