"""Prints the files of a log in readable form, and checks its indexes.

Mirrors: core/src/main/scala/kafka/tools/DumpLogSegments.scala @ 1.1.1
"""

from __future__ import annotations

import pathlib
import sys
from typing import TYPE_CHECKING

from kafka_py.common.errors import CorruptSnapshotException
from kafka_py.common.record.control_record_type import ControlRecordType
from kafka_py.common.record.end_transaction_marker import EndTransactionMarker
from kafka_py.common.record.file_records import FileRecords
from kafka_py.log.log_file_utils import LogFileUtils
from kafka_py.log.offset_index import OffsetIndex
from kafka_py.log.producer_state_manager import ProducerStateManager
from kafka_py.log.time_index import TimeIndex
from kafka_py.log.transaction_index import TransactionIndex
from kafka_py.serializer.decoder import Decoder
from kafka_py.tools.message_parsers import (
    DecoderMessageParser,
    MessageParser,
    OffsetsMessageParser,
    TransactionLogMessageParser,
)
from kafka_py.utils.command_line_utils import CommandLineUtils
from kafka_py.utils.core_utils import create_object
from kafka_py.utils.option_parser import OptionParser

if TYPE_CHECKING:
    from kafka_py.common.record.record import Record
    from kafka_py.common.record.record_batch import RecordBatch
    from kafka_py.utils.option_parser import OptionSet, OptionSpec

_INT_MAX = 2**31 - 1
_DECODERS = "kafka.serializer."
_DEFAULT_DECODER = f"{_DECODERS}StringDecoder"


class TimeIndexDumpErrors:
    """What is wrong with time indexes, printed after all files.

    Mirrors: kafka.tools.DumpLogSegments.TimeIndexDumpErrors
    """

    def __init__(self) -> None:
        self.mis_matches_for_time_index_files_map: dict[str, list[tuple[int, int]]] = {}
        self.out_of_order_timestamp: dict[str, list[tuple[int, int]]] = {}
        self.shallow_offset_not_found: dict[str, list[tuple[int, int]]] = {}

    def record_mismatch_time_index(self, file: pathlib.Path, index_timestamp: int, log_timestamp: int) -> None:
        """The batch at an entry has another largest timestamp."""
        self.mis_matches_for_time_index_files_map.setdefault(str(file.absolute()), []).append(
            (index_timestamp, log_timestamp)
        )

    def record_out_of_order_index_timestamp(
        self, file: pathlib.Path, index_timestamp: int, prev_index_timestamp: int
    ) -> None:
        """An entry is not younger than the one before."""
        self.out_of_order_timestamp.setdefault(str(file.absolute()), []).append((index_timestamp, prev_index_timestamp))

    def record_shallow_offset_not_found(self, file: pathlib.Path, index_offset: int, log_offset: int) -> None:
        """No batch ends at an entry's offset."""
        self.shallow_offset_not_found.setdefault(str(file.absolute()), []).append((index_offset, log_offset))

    def print_errors(self) -> None:
        """Print all of it to stderr."""
        for file_name, mismatches in self.mis_matches_for_time_index_files_map.items():
            _complain(f"Found timestamp mismatch in :{file_name}")
            for index_timestamp, log_timestamp in mismatches:
                _complain(f"  Index timestamp: {index_timestamp}, log timestamp: {log_timestamp}")
        for file_name, timestamps in self.out_of_order_timestamp.items():
            _complain(f"Found out of order timestamp in :{file_name}")
            for index_timestamp, previous in timestamps:
                _complain(f"  Index timestamp: {index_timestamp}, Previously indexed timestamp: {previous}")
        for offsets in self.shallow_offset_not_found.values():
            _complain("The following indexed offsets are not found in the log.")
            for index_offset, log_offset in offsets:
                _complain(f"Indexed offset: {index_offset}, found log offset: {log_offset}")


class DumpLogSegments:
    """The command: dispatches on the files' suffixes.

    Mirrors: kafka.tools.DumpLogSegments
    Differs: a decoder of kafka.serializer is ours of the same name, another is a Python class by its dotted name; what
        DefaultDecoder leaves as bytes is printed as Python writes bytes; `main` returns the exit status.
    """

    def __init__(self, options: OptionSet) -> None:
        self._print_data_log = any(options.has(name) for name in ("print-data-log", *_DECODER_OPTIONS))
        self._deep_iteration = options.has("deep-iteration") or self._print_data_log
        self._verify_only = options.has("verify-index-only")
        self._index_sanity_only = options.has("index-sanity-check")
        self._max_message_size: int = options.value_of("max-message-size")
        self._message_parser = _message_parser(options)
        self._mis_matches_for_index_files_map: dict[str, list[tuple[int, int]]] = {}
        self._non_consecutive_pairs_for_log_files_map: dict[str, list[tuple[int, int]]] = {}
        self._time_index_dump_errors = TimeIndexDumpErrors()

    @staticmethod
    def main(args: list[str]) -> int:
        """Run with a command line (without the program's name); 0 unless the command line is wrong."""
        parser, files_opt = _parser()
        options = CommandLineUtils.parse(parser, args)
        if not args or options.has("help"):
            CommandLineUtils.print_usage_and_die(
                parser, "Shows what is in the files of a log; helps to find out what is wrong with a segment."
            )
        CommandLineUtils.check_required_args(parser, options, files_opt)
        command = DumpLogSegments(options)
        for name in options.value_of(files_opt).split(","):
            command.dump(pathlib.Path(name.strip()))
        command.print_errors()
        return 0

    def dump(self, file: pathlib.Path) -> None:
        """Print one file."""
        print(f"Dumping {file}")
        if file.suffix == LogFileUtils.LOG_FILE_SUFFIX:
            self._dump_log(file)
        elif file.suffix == LogFileUtils.INDEX_FILE_SUFFIX:
            self._dump_index(file)
        elif file.suffix == LogFileUtils.TIME_INDEX_FILE_SUFFIX:
            self._dump_time_index(file)
        elif file.suffix == LogFileUtils.PRODUCER_SNAPSHOT_FILE_SUFFIX:
            self._dump_producer_id_snapshot(file)
        elif file.suffix == LogFileUtils.TXN_INDEX_FILE_SUFFIX:
            self._dump_txn_index(file)
        else:
            _complain(f"Ignoring unknown file {file}")

    def print_errors(self) -> None:
        """Print to stderr what was found wrong."""
        for file_name, mismatches in self._mis_matches_for_index_files_map.items():
            _complain(f"Mismatches in :{file_name}")
            for index_offset, log_offset in mismatches:
                _complain(f"  Index offset: {index_offset}, log offset: {log_offset}")
        self._time_index_dump_errors.print_errors()
        for file_name, pairs in self._non_consecutive_pairs_for_log_files_map.items():
            _complain(f"Non-consecutive offsets in :{file_name}")
            for offset, following in pairs:
                _complain(f"  {offset} is followed by {following}")

    def _dump_txn_index(self, file: pathlib.Path) -> None:
        index = TransactionIndex(LogFileUtils.offset_from_file(file), file)
        for txn in index.all_aborted_txns():
            print(
                f"version: {txn.version} producerId: {txn.producer_id} firstOffset: {txn.first_offset} "
                f"lastOffset: {txn.last_offset} lastStableOffset: {txn.last_stable_offset}"
            )
        index.close()

    def _dump_producer_id_snapshot(self, file: pathlib.Path) -> None:
        try:
            for entry in ProducerStateManager.read_snapshot(file):
                txn = entry.current_txn_first_offset
                line = (
                    f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} coordinatorEpoch: "
                    f"{entry.coordinator_epoch} currentTxnFirstOffset: {'None' if txn is None else f'Some({txn})'} "
                )
                if entry.batch_metadata:
                    metadata = entry.batch_metadata[0]
                    line += (
                        f"firstSequence: {metadata.first_seq} lastSequence: {metadata.last_seq} lastOffset: "
                        f"{metadata.last_offset} offsetDelta: {metadata.offset_delta} timestamp: {metadata.timestamp}"
                    )
                print(line)
        except CorruptSnapshotException as e:
            _complain(str(e))

    def _dump_index(self, file: pathlib.Path) -> None:
        index = OffsetIndex(file, LogFileUtils.offset_from_file(file), writable=False)
        if self._index_sanity_only:
            index.sanity_check()
            print(f"{file} passed sanity check.")
            return
        file_records = _open_log_of(file)
        for i in range(index.entries):
            entry = index.entry(i)
            offset = entry.offset + index.base_offset
            first_record = next(file_records.slice(entry.position, self._max_message_size).records(), None)
            if first_record is None or first_record.offset() != offset:
                found = -1 if first_record is None else first_record.offset()
                self._mis_matches_for_index_files_map.setdefault(str(file.absolute()), []).insert(0, (offset, found))
            # the rest of a preallocated file is zeros
            if entry.offset == 0 and i > 0:
                break
            if not self._verify_only:
                print(f"offset: {offset} position: {entry.position}")
        file_records.close_handlers()

    def _dump_time_index(self, file: pathlib.Path) -> None:
        base_offset = LogFileUtils.offset_from_file(file)
        time_index = TimeIndex(file, base_offset, writable=False)
        if self._index_sanity_only:
            time_index.sanity_check()
            print(f"{file} passed sanity check.")
            return
        index = OffsetIndex(file.with_suffix(LogFileUtils.INDEX_FILE_SUFFIX), base_offset, writable=False)
        file_records = _open_log_of(file)
        errors = self._time_index_dump_errors
        prev_timestamp = -1
        for i in range(time_index.entries):
            entry = time_index.entry(i)
            offset = entry.offset + base_offset
            batches = file_records.slice(index.lookup(offset).position, _INT_MAX).batches()
            batch = next((batch for batch in batches if batch.last_offset() >= offset), None)
            if batch is None:
                errors.record_shallow_offset_not_found(file, offset, -1)
            elif batch.last_offset() != offset:
                errors.record_shallow_offset_not_found(file, offset, batch.last_offset())
            else:
                max_timestamp = max((record.timestamp() for record in batch), default=-1)
                if max_timestamp != entry.timestamp:
                    errors.record_mismatch_time_index(file, entry.timestamp, max_timestamp)
                if prev_timestamp >= entry.timestamp:
                    errors.record_out_of_order_index_timestamp(file, entry.timestamp, prev_timestamp)
                if entry.offset == 0 and i > 0:
                    break
            if not self._verify_only:
                print(f"timestamp: {entry.timestamp} offset: {offset}")
            prev_timestamp = entry.timestamp
        file_records.close_handlers()

    def _dump_log(self, file: pathlib.Path) -> None:
        print(f"Starting offset: {LogFileUtils.offset_from_file(file)}")
        message_set = FileRecords.open(file, mutable=False, file_already_exists=True)
        valid_bytes = 0
        last_offset = -1
        for batch in message_set.batches():
            if self._deep_iteration:
                for record in batch:
                    offset = record.offset()
                    if last_offset not in (-1, offset - 1):
                        pairs = self._non_consecutive_pairs_for_log_files_map.setdefault(str(file.absolute()), [])
                        pairs.insert(0, (last_offset, offset))
                    last_offset = offset
                    print(self._record_line(batch, record, valid_bytes))
            else:
                print(_batch_line(batch, valid_bytes))
            valid_bytes += batch.size_in_bytes()
        trailing_bytes = message_set.size_in_bytes() - valid_bytes
        if trailing_bytes > 0:
            print(f"Found {trailing_bytes} invalid bytes at the end of {file.name}")
        message_set.close_handlers()

    def _record_line(self, batch: RecordBatch, record: Record, position: int) -> str:
        line = (
            f"offset: {record.offset()} position: {position} {batch.timestamp_type().name}: {record.timestamp()} "
            f"isvalid: {_bool(record.is_valid())} keysize: {record.key_size()} valuesize: {record.value_size()} "
            f"magic: {batch.magic()} compresscodec: {batch.compression_type()!r}"
        )
        if batch.magic() >= 2:
            header_keys = ",".join(header.key() for header in record.headers())
            line += (
                f" producerId: {batch.producer_id()} producerEpoch: {batch.producer_epoch()} sequence: "
                f"{record.sequence()} isTransactional: {_bool(batch.is_transactional())} headerKeys: [{header_keys}]"
            )
        else:
            line += f" crc: {record.checksum_or_null()}"
        if batch.is_control_batch():
            return line + _control_record(record)
        if self._print_data_log:
            key, payload = self._message_parser.parse(record)
            line += "" if key is None else f" key: {key}"
            line += "" if payload is None else f" payload: {payload}"
        return line


def main(args: list[str]) -> int:
    """Run the command."""
    return DumpLogSegments.main(args)


_DECODER_OPTIONS = ("offsets-decoder", "transaction-log-decoder", "value-decoder-class", "key-decoder-class")


def _parser() -> tuple[OptionParser, OptionSpec]:
    """The options, and among them --files."""
    parser = OptionParser(allow_abbreviations=False)
    parser.accepts("print-data-log", "also print keys and values of records; implied by every decoder")
    parser.accepts("verify-index-only", "check indexes without printing them")
    parser.accepts(
        "index-sanity-check",
        "only do the check that a starting broker does to see whether an index must be rebuilt",
    )
    files_opt = (
        parser.accepts("files", "REQUIRED: the log and index files, separated by commas")
        .with_required_arg()
        .described_as("file1, file2, ...")
    )
    size_opt = parser.accepts("max-message-size", "Bytes of the largest message.").with_required_arg()
    size_opt.described_as("size").of_type(int).defaults_to(5 * 1024 * 1024)
    parser.accepts("deep-iteration", "print records, not batches; implied by --print-data-log")
    for part, name in (("values", "value-decoder-class"), ("keys", "key-decoder-class")):
        parser.accepts(
            name,
            f"how to read {part}: a class of kafka.serializer, or the dotted name of a Python class like those in "
            "kafka_py.serializer.decoder",
        ).with_optional_arg().defaults_to(_DEFAULT_DECODER)
    parser.accepts("offsets-decoder", "read keys and values as those of the __consumer_offsets topic")
    parser.accepts("transaction-log-decoder", "read keys and values as those of the __transaction_state topic")
    parser.accepts("help", "Show this.")
    return parser, files_opt


def _message_parser(options: OptionSet) -> MessageParser:
    if options.has("offsets-decoder"):
        return OffsetsMessageParser()
    if options.has("transaction-log-decoder"):
        return TransactionLogMessageParser()
    value_decoder = _decoder(options.value_of("value-decoder-class"))
    return DecoderMessageParser(_decoder(options.value_of("key-decoder-class")), value_decoder)


def _decoder(class_name: str) -> Decoder:
    """A decoder of that class; TypeError for a class that is none."""
    decoder = create_object(class_name.replace(_DECODERS, "kafka_py.serializer.decoder.", 1))
    if not isinstance(decoder, Decoder):
        raise TypeError(f"{class_name} is no decoder")
    return decoder


def _batch_line(batch: RecordBatch, position: int) -> str:
    if batch.magic() >= 2:
        line = (
            f"baseOffset: {batch.base_offset()} lastOffset: {batch.last_offset()} baseSequence: "
            f"{batch.base_sequence()} lastSequence: {batch.last_sequence()} producerId: {batch.producer_id()} "
            f"producerEpoch: {batch.producer_epoch()} partitionLeaderEpoch: {batch.partition_leader_epoch()} "
            f"isTransactional: {_bool(batch.is_transactional())}"
        )
    else:
        line = f"offset: {batch.last_offset()}"
    return line + (
        f" position: {position} {batch.timestamp_type().name}: {batch.max_timestamp()} isvalid: "
        f"{_bool(batch.is_valid())} size: {batch.size_in_bytes()} magic: {batch.magic()} compresscodec: "
        f"{batch.compression_type()!r} crc: {batch.checksum()}"
    )


def _control_record(record: Record) -> str:
    control_type_id = ControlRecordType.parse_type_id(record.key() or b"")
    control_type = ControlRecordType.from_type_id(control_type_id)
    if control_type in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        marker = EndTransactionMarker.deserialize(record)
        return f" endTxnMarker: {marker.control_type()!r} coordinatorEpoch: {marker.coordinator_epoch()}"
    return f" controlType: {control_type!r}({control_type_id})"


def _open_log_of(index_file: pathlib.Path) -> FileRecords:
    log_file = index_file.with_suffix(LogFileUtils.LOG_FILE_SUFFIX)
    return FileRecords.open(log_file, mutable=False, file_already_exists=True)


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _complain(line: str) -> None:
    print(line, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
