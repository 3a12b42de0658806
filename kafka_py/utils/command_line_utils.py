"""Checks of command lines that all tools make.

Mirrors: core/src/main/scala/kafka/utils/CommandLineUtils.scala @ 1.1.1
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable

from kafka_py.common.utils.exit import Exit
from kafka_py.utils.logging import Logging
from kafka_py.utils.option_parser import OptionException, OptionParser, OptionSet, OptionSpec

__all__ = ["CommandLineUtils", "OptionException", "OptionParser", "OptionSet", "OptionSpec"]


class CommandLineUtils(Logging):
    """Ends the tool with a message when its options do not fit together.

    Mirrors: kafka.utils.CommandLineUtils
    """

    @staticmethod
    def parse(parser: OptionParser, args: list[str]) -> OptionSet:
        """What the arguments say; prints usage and exits if they make no sense."""
        try:
            return parser.parse(args)
        except OptionException as e:
            CommandLineUtils.print_usage_and_die(parser, str(e))
            raise

    @staticmethod
    def check_required_args(parser: OptionParser, options: OptionSet, *required: OptionSpec) -> None:
        """All of these must be given."""
        for arg in required:
            if not options.has(arg):
                CommandLineUtils.print_usage_and_die(parser, f'Missing required argument "{arg}"')

    @staticmethod
    def check_invalid_args(
        parser: OptionParser, options: OptionSet, used_option: OptionSpec, invalid_options: Collection[OptionSpec]
    ) -> None:
        """With the used option, none of the others may be given."""
        if options.has(used_option):
            for arg in invalid_options:
                if options.has(arg):
                    CommandLineUtils.print_usage_and_die(
                        parser, f'Option "{used_option}" can\'t be used with option"{arg}"'
                    )

    @staticmethod
    def print_usage_and_die(parser: OptionParser, message: str) -> None:
        """Print the message and the options, and exit with 1."""
        print(message, file=sys.stderr)
        parser.print_help_on(sys.stderr)
        Exit.exit(1, message)

    @staticmethod
    def parse_key_value_args(args: Iterable[str], accept_missing_value: bool = True) -> dict[str, str]:
        """`key=value` arguments as a dict; ValueError (or "" as value) if there is no value, exit if there are two."""
        args = list(args)
        props: dict[str, str] = {}
        for arg in args:
            parts = arg.rstrip("=").split("=")  # Java's split drops empty parts at the end
            if len(parts) == 1:
                if not accept_missing_value:
                    raise ValueError(f"Missing value for key {parts[0]}")
                if parts[0] or arg == "":
                    props[parts[0]] = ""
            elif len(parts) == 2:
                props[parts[0]] = parts[1]
            else:
                print(f"Invalid command line properties: {' '.join(args)}", file=sys.stderr)
                Exit.exit(1)
        return props
