/// Reads a log field by field.
///
/// The position of a field decides whether it is a path, a name or a record, never its content: a path may
/// look like any of the others.
struct LogMachine: FieldConsumer {
  private enum State {
    /// Nothing has been read.
    ///
    /// Can become boundary.
    case start
    /// The empty field at this offset ended the records.
    ///
    /// Can become author, records or lost.
    case boundary(at: Int)
    /// In the header at this offset.
    ///
    /// Can become time.
    case author(hash: ByteString, header: Int)
    /// In the header at this offset.
    ///
    /// Can become records.
    case time(hash: ByteString, author: ByteString, header: Int)
    /// In a commit.
    ///
    /// Can become boundary or author.
    case records
    /// No header followed an empty field: waits for one that does.
    ///
    /// Can become author.
    case lost(afterEmpty: Bool)
  }

  /// The complete commits, in order, until the parser removes them.
  var completed: [LoggedCommit] = []
  private(set) var rejections = Rejections()
  /// Whether as many commits are complete as the limit allows.
  private(set) var hasReachedLimit = false
  private let limit: Int
  private var completedCount = 0
  private var state = State.start
  private var records: RecordMachine?
  private var lastHash: ByteString?

  /// `limit` is the number of commits after which the rest of the log is skipped.
  init(limit: Int?) {
    self.limit = limit ?? .max
  }

  mutating func take(_ field: Span<UInt8>, at offset: Int) throws(LogError) {
    if hasReachedLimit { return }
    switch state {
    case .start:
      guard field.isEmpty else { throw .foreign(at: offset) }
      state = .boundary(at: offset)
    case .boundary(let boundary):
      try takeHash(field, at: offset, after: boundary)
    case .author(let hash, let header):
      state = .time(hash: hash, author: ByteString(field), header: header)
    case .time(let hash, let author, _):
      let time = RecordSyntax.time(field)
      if time == nil { reject(.time, at: offset, .within(hash)) }
      records = RecordMachine(commit: CommitBuilder(hash: hash, author: author, time: time))
      state = .records
    case .records:
      takeRecord(field, at: offset)
    case .lost(let afterEmpty):
      if afterEmpty, let hash = RecordSyntax.hash(field) {
        state = .author(hash: hash, header: offset)
      } else {
        state = .lost(afterEmpty: field.isEmpty)
      }
    }
  }

  private mutating func takeRecord(_ field: Span<UInt8>, at offset: Int) {
    switch records?.take(field, at: offset, &rejections) {
    case .taken, nil: break
    case .boundary: state = .boundary(at: offset)
    case .header(let hash):
      complete(at: offset)
      guard !hasReachedLimit else { return }
      reject(.missingSeparator, at: offset, .within(hash))
      state = .author(hash: hash, header: offset)
    }
  }

  private mutating func takeHash(
    _ field: Span<UInt8>, at offset: Int, after boundary: Int
  ) throws(LogError) {
    if let hash = RecordSyntax.hash(field) {
      complete(at: boundary)
      state = .author(hash: hash, header: offset)
    } else if records == nil {
      throw .foreign(at: offset)
    } else if RecordSyntax.raw(field) != nil {
      records?.rejectInsertedEmpty(at: boundary, &rejections)
      state = .records
      takeRecord(field, at: offset)
    } else if records?.owesLines == true {
      records?.takeMalformed(at: boundary, &rejections)
      state = .records
      takeRecord(field, at: offset)
    } else {
      complete(at: boundary)
      if !hasReachedLimit { continueAfterMalformed(field, at: offset) }
    }
  }

  /// Continues after a header whose first field is malformed: if it has the mark, the rest may be valid.
  private mutating func continueAfterMalformed(_ field: Span<UInt8>, at offset: Int) {
    if !field.isEmpty, field[0] == RecordSyntax.commitMark {
      reject(.hash, at: offset, place)
      let hash = ByteString(field.extracting(1..<field.count))
      state = .author(hash: hash, header: offset)
    } else {
      reject(.header, at: offset, place)
      state = .lost(afterEmpty: field.isEmpty)
    }
  }

  /// Ends the commit, if one has begun.
  private mutating func complete(at offset: Int) {
    guard let commit = records?.commit else { return }
    for _ in 0..<commit.owed { reject(.uncounted, at: offset, .within(commit.hash)) }
    completed.append(commit.finished())
    records = nil
    lastHash = commit.hash
    completedCount += 1
    hasReachedLimit = completedCount >= limit
  }

  private mutating func reject(
    _ reason: Rejection.Reason, at offset: Int, _ place: CommitPlace
  ) {
    rejections.add(Rejection(offset: offset, place: place, reason: reason))
  }
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
    case .boundary(let boundary):
      if lastHash == nil, records == nil, unfinished.first != RecordSyntax.commitMark,
        !unfinished.isEmpty
      {
        throw .foreign(at: start)
      }
      throw cut(end, record: unfinished.isEmpty ? boundary : start)
    case .author(_, let header), .time(_, _, let header):
      throw cut(end, record: header)
    case .records:
      try finishRecords(unfinished, from: start, to: end)
    case .lost:
      if !unfinished.isEmpty { throw cut(end, record: start) }
    }
  }

  private mutating func finishRecords(
    _ unfinished: [UInt8], from start: Int, to end: Int
  ) throws(LogError) {
    switch records?.ending(&rejections) {
    case .cut(let record): throw cut(end, record: record)
    case _ where !unfinished.isEmpty: throw cut(end, record: start)
    case .incomplete(let owed): throw .incomplete(end: end, owed: owed, in: place)
    case .complete, nil: complete(at: end)
    }
  }

  private func cut(_ end: Int, record: Int) -> LogError {
    .cut(end: end, record: record, in: place)
  }

  /// The commit at which the machine is.
  private var place: CommitPlace {
    switch state {
    case .author(let hash, _), .time(let hash, _, _): .within(hash)
    case .records: (records?.commit.hash).map { .within($0) } ?? .beforeFirst
    case .start, .boundary, .lost:
      (records?.commit.hash ?? lastHash).map { .after($0) } ?? .beforeFirst
    }
  }
}
