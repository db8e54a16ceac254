/// Reads a log field by field.
///
/// The position of a field decides whether it is a path, a name or a record, never its content: a path may
/// look like any of the others.
struct LogMachine: FieldConsumer {
  private enum State {
    /// Nothing has been read.
    ///
    /// Can become hash.
    case start
    /// The empty field at this offset ended the records.
    ///
    /// Can become author.
    case hash(separator: Int)
    /// In the header at this offset.
    ///
    /// Can become time.
    case author(hash: ByteString, header: Int)
    /// In the header at this offset.
    ///
    /// Can become records.
    case time(hash: ByteString, author: ByteString, header: Int)
    /// A record follows, or the end of the commit.
    ///
    /// Can become path or hash.
    case records
    /// The path of the raw record at this offset follows.
    ///
    /// Can become records.
    case path(Change.Kind, of: Int)
  }

  /// The complete commits, in order, until the parser removes them.
  var completed: [LoggedCommit] = []
  /// Whether as many commits are complete as the limit allows.
  private(set) var hasReachedLimit = false
  private let limit: Int
  private var completedCount = 0
  private var state = State.start
  private var commit: CommitBuilder?

  /// `limit` is the number of commits after which the rest of the log is skipped.
  init(limit: Int?) {
    self.limit = limit ?? .max
  }

  mutating func take(_ field: Span<UInt8>, at offset: Int) throws(LogError) {
    if hasReachedLimit { return }
    switch state {
    case .start:
      guard field.isEmpty else { throw .foreign(at: offset) }
      state = .hash(separator: offset)
    case .hash:
      guard let hash = RecordSyntax.hash(field) else {
        if commit == nil { throw .foreign(at: offset) }
        throw malformed(at: offset)
      }
      complete()
      state = .author(hash: hash, header: offset)
    case .author(let hash, let header):
      state = .time(hash: hash, author: ByteString(field), header: header)
    case .time(let hash, let author, _):
      guard let time = RecordSyntax.time(field) else { throw malformed(at: offset) }
      commit = CommitBuilder(hash: hash, author: author, time: time)
      state = .records
    case .records:
      try takeRecord(field, at: offset)
    case .path(let kind, _):
      commit?.announce(ByteString(field), kind)
      state = .records
    }
  }

  private mutating func takeRecord(_ field: Span<UInt8>, at offset: Int) throws(LogError) {
    if field.isEmpty {
      guard commit?.owed == 0 else { throw malformed(at: offset) }
      state = .hash(separator: offset)
    } else if commit?.hasLines == false, let kind = RecordSyntax.raw(field) {
      state = .path(kind, of: offset)
    } else if let numstat = RecordSyntax.numstat(field) {
      let path = field.extracting(numstat.pathStart..<field.count)
      guard commit?.count(numstat.lines, of: path) == true else { throw malformed(at: offset) }
    } else {
      throw malformed(at: offset)
    }
  }

  /// Ends the commit, if one has begun.
  private mutating func complete() {
    guard let ended = commit?.finished() else { return }
    completed.append(ended)
    commit = nil
    completedCount += 1
    hasReachedLimit = completedCount >= limit
  }

  private func malformed(at offset: Int) -> LogError { .malformed(at: offset, in: place) }
}

// MARK: - The end of the log

extension LogMachine {
  /// Ends the log at byte `end`; `unfinished` are the bytes from `start`, which no NUL has ended.
  mutating func finish(unfinished: [UInt8], from start: Int, to end: Int) throws(LogError) {
    if hasReachedLimit { return }
    if end == 0 { throw .empty }
    switch state {
    case .start:
      throw .foreign(at: start)
    case .hash(let separator):
      if commit == nil, !unfinished.isEmpty, unfinished.first != RecordSyntax.commitMark {
        throw .foreign(at: start)
      }
      throw cut(end, record: unfinished.isEmpty ? separator : start)
    case .author(_, let header), .time(_, _, let header):
      throw cut(end, record: header)
    case .path(_, let record):
      throw cut(end, record: record)
    case .records:
      if !unfinished.isEmpty { throw cut(end, record: start) }
      if let owed = commit?.owed, owed > 0 { throw .incomplete(end: end, owed: owed, in: place) }
      complete()
    }
  }

  private func cut(_ end: Int, record: Int) -> LogError {
    .cut(end: end, record: record, in: place)
  }

  /// The commit at which the machine is.
  private var place: CommitPlace {
    switch state {
    case .author(let hash, _), .time(let hash, _, _): .within(hash)
    case .records, .path: (commit?.hash).map { .within($0) } ?? .beforeFirst
    case .start, .hash: (commit?.hash).map { .after($0) } ?? .beforeFirst
    }
  }
}
