/// Parses a log from blocks of any size, in memory that does not grow with the log.
struct LogParser {
  private var splitter = FieldSplitter()
  private var machine: LogMachine
  private var length = 0

  /// `limit` is the number of commits after which the rest of the log is skipped.
  init(limit: Int? = nil) {
    machine = LogMachine(limit: limit)
  }

  /// The records that could not be read so far.
  var rejections: Rejections { machine.rejections }

  /// Whether as many commits have been parsed as the limit allows.
  var hasReachedLimit: Bool { machine.hasReachedLimit }

  /// Parses the next block, and returns the commits that it completes.
  mutating func parse(_ block: Span<UInt8>) throws(LogError) -> [LoggedCommit] {
    length += block.count
    try splitter.split(block, into: &machine)
    return takeCompleted()
  }

  /// Ends the log, and returns the commits that this completes.
  mutating func finish() throws(LogError) -> [LoggedCommit] {
    try machine.finish(
      unfinished: splitter.unfinished, from: splitter.fieldOffset, to: length)
    return takeCompleted()
  }

  private mutating func takeCompleted() -> [LoggedCommit] {
    defer { machine.completed = [] }
    return machine.completed
  }
}
