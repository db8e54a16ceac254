/// A spooler that copies a log to a temporary file, and parses it meanwhile, so that errors are known before any
/// replay.
struct Spooler {
  let source: any ByteSource
  /// The number of commits after which the rest of the log is left unread.
  let limit: Int?
  /// The folder for the temporary file.
  let directory: String
  /// Called at the beginning, and after each block, with the summary so far.
  let progress: (LogSummary) -> Void

  /// Reads the source to its end, or to the limit.
  func spool() throws(Failure) -> SpooledLog {
    let file = try temporaryFile()
    var parser = LogParser(limit: limit)
    var summary = LogSummary()
    var buffer = [UInt8](repeating: 0, count: SpooledLog.blockLength)
    var length = 0
    progress(summary)
    while !parser.hasReachedLimit {
      let count = try addingProgress(summary, length) { () throws(Failure) in
        try source.read(into: &buffer)
      }
      if count == 0 { break }
      let block = buffer.span.extracting(0..<count)
      try write(block, to: file)
      length += count
      summary.add(try reading { () throws(LogError) in try parser.parse(block) })
      progress(summary)
    }
    if parser.hasReachedLimit {
      source.stop()
    } else {
      try addingProgress(summary, length) { () throws(Failure) in try source.checkCompleteness() }
    }
    summary.add(try reading { () throws(LogError) in try parser.finish() })
    summary.rejections = parser.rejections
    return SpooledLog(file: file, length: length, limit: limit, summary: summary)
  }

  /// Stops the source if the log is malformed, and adds the name of the log to the failure.
  private func reading(
    _ parse: () throws(LogError) -> [LoggedCommit]
  ) throws(Failure) -> [LoggedCommit] {
    do {
      return try parse()
    } catch {
      source.stop()
      throw Failure(.dataError, "\(source.name): \(error.message)")
    }
  }

  /// Adds to a failure of the source how far it had been read.
  private func addingProgress<Result>(
    _ summary: LogSummary, _ length: Int, _ work: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    do {
      return try work()
    } catch {
      guard length > 0 else { throw error }
      let commit = summary.lastHash.map { ", up to commit \($0)" } ?? ""
      throw Failure(error.code, "\(error.message); \(length) bytes had come\(commit)")
    }
  }

  private func temporaryFile() throws(Failure) -> Descriptor {
    do {
      return try Descriptor.temporary(in: directory)
    } catch {
      source.stop()
      throw Failure(.cannotCreate, "cannot make a temporary file in '\(directory)': \(error)")
    }
  }

  private func write(_ block: Span<UInt8>, to file: Descriptor) throws(Failure) {
    do {
      try file.write(block)
    } catch {
      source.stop()
      throw Failure(.ioError, "cannot write to the temporary file: \(error)")
    }
  }
}
