"""Options that the Scala tools for measuring share, and how they print moments and numbers.

Mirrors: core/src/main/scala/kafka/tools/PerfConfig.scala @ 1.1.1
"""

from __future__ import annotations

import math
import time

from kafka_py.utils.log4j_configurator import date_pattern
from kafka_py.utils.option_parser import OptionParser


class PerfConfig:
    """Declares the options.

    Mirrors: kafka.tools.PerfConfig
    """

    def __init__(self) -> None:
        self.parser = OptionParser(allow_abbreviations=False)
        accepts = self.parser.accepts
        self.num_messages_opt = accepts("messages", "REQUIRED: How many records.").with_required_arg()
        self.num_messages_opt.described_as("count").of_type(int, "Long")
        self.reporting_interval_opt = accepts("reporting-interval", "Milliseconds between two lines of progress.")
        self.reporting_interval_opt.with_required_arg().described_as("interval_ms").of_type(int).defaults_to(5000)
        self.date_format_opt = accepts("date-format", "The form of moments, as of java.text.SimpleDateFormat.")
        self.date_format_opt.with_required_arg().described_as("date format").defaults_to("yyyy-MM-dd HH:mm:ss:SSS")
        self.hide_header_opt = accepts("hide-header", "Do not print the heading.")
        self.help_opt = accepts("help", "Print usage.")


class SimpleDateFormat:
    """Writes moments by a Java pattern of years to milliseconds, in local time.

    Mirrors: java.text.SimpleDateFormat
    """

    def __init__(self, pattern: str) -> None:
        self._pattern = date_pattern(pattern)

    def format(self, ms: int) -> str:
        """A moment in milliseconds since 1970."""
        return time.strftime(self._pattern, time.localtime(ms // 1000)).replace("SSS", f"{ms % 1000:03d}")


def ratio(amount: float, by: float) -> float:
    """A quotient as floating point has it: infinite for a divisor of 0, and no number at all for 0 of 0."""
    if by:
        return amount / by
    return math.copysign(math.inf, amount) if amount else math.nan


def four_digits(value: float) -> str:
    """%.4f, as Java writes it."""
    if math.isfinite(value):
        return f"{value:.4f}"
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
