/// Reads the records of one commit: all raw ones, each followed by its path, then all records of
/// lines.
///
/// Rejects malformed records, and skips them.
struct RecordMachine {
  private enum State {
    /// A record follows, or the end of the commit.
    ///
    /// Can become path or doubtful.
    case records
    /// The path of the raw record at this offset follows.
    ///
    /// Can become records.
    case path(Change.Kind?, of: Int)
    /// The field at this offset was malformed.
    ///
    /// It was a raw record, whose path follows, or a record of lines, which no path follows. Can
    /// become records, or what follows from those.
    case doubtful(at: Int)
  }

  /// The meaning of a field for the commit.
  enum Step {
    case taken
    /// An empty field, which ends the commit if a header follows.
    case boundary
    /// The header of another commit, at a place for which none was due.
    case header(ByteString)
  }

  private(set) var commit: CommitBuilder
  private var state = State.records
  private var countsLines = false

  init(commit: CommitBuilder) {
    self.commit = commit
  }

  mutating func take(
    _ field: Span<UInt8>, at offset: Int, _ rejections: inout Rejections
  ) -> Step {
    switch state {
    case .records:
      return takeRecord(field, at: offset, &rejections)
    case .path(let kind, _):
      commit.announce(ByteString(field), kind)
      state = .records
      return .taken
    case .doubtful(let doubtful):
      return settle(doubtful, with: field, at: offset, &rejections)
    }
  }

  /// The state of the log if it ends here.
  enum Ending: Equatable {
    case complete
    /// In the middle of the record at this offset.
    case cut(record: Int)
    /// Between two records, before the lines of this many paths.
    case incomplete(owed: Int)
  }

  mutating func ending(_ rejections: inout Rejections) -> Ending {
    switch state {
    case .path(_, let offset):
      return .cut(record: offset)
    case .doubtful(let offset) where commit.announcedCount > 1:
      return .cut(record: offset)
    case .doubtful(let offset):
      rejectLines(at: offset, &rejections)
      return .complete
    case .records:
      return commit.owed == 0 ? .complete : .incomplete(owed: commit.owed)
    }
  }

  /// Whether some path still lacks its lines.
  var owesLines: Bool { commit.owed > 0 }

  /// Rejects the empty field at this offset as one that does not belong here.
  mutating func rejectInsertedEmpty(at offset: Int, _ rejections: inout Rejections) {
    reject(.emptyRecord, at: offset, &rejections)
  }

  /// Handles the field at this offset as a malformed record.
  mutating func takeMalformed(at offset: Int, _ rejections: inout Rejections) {
    if countsLines {
      rejectLines(at: offset, &rejections)
    } else if commit.announcedCount == 0 {
      reject(.raw, at: offset, &rejections)
      state = .path(nil, of: offset)
    } else {
      state = .doubtful(at: offset)
    }
  }
}

extension RecordMachine {
  private mutating func takeRecord(
    _ field: Span<UInt8>, at offset: Int, _ rejections: inout Rejections
  ) -> Step {
    if field.isEmpty { return .boundary }
    if !countsLines, let kind = RecordSyntax.raw(field) {
      state = .path(kind, of: offset)
    } else if let numstat = RecordSyntax.numstat(field) {
      countsLines = true
      pair(numstat, field, at: offset, &rejections)
    } else if let hash = RecordSyntax.hash(field) {
      return .header(hash)
    } else {
      takeMalformed(at: offset, &rejections)
    }
    return .taken
  }

  /// Decides by the next field which kind of record a malformed one was.
  private mutating func settle(
    _ doubtful: Int, with field: Span<UInt8>, at offset: Int, _ rejections: inout Rejections
  ) -> Step {
    state = .records
    let wasLines: Bool
    if let numstat = RecordSyntax.numstat(field) {
      wasLines = commit.isSecondPath(field.extracting(numstat.pathStart..<field.count))
    } else {
      wasLines = field.isEmpty && commit.announcedCount == 1
    }
    guard wasLines else {
      reject(.raw, at: doubtful, &rejections)
      commit.announce(ByteString(field), nil)
      return .taken
    }
    rejectLines(at: doubtful, &rejections)
    return takeRecord(field, at: offset, &rejections)
  }

  private mutating func pair(
    _ numstat: RecordSyntax.Numstat, _ field: Span<UInt8>, at offset: Int,
    _ rejections: inout Rejections
  ) {
    let path = field.extracting(numstat.pathStart..<field.count)
    switch commit.count(numstat.lines, of: path) {
    case .paired(let skipped):
      for _ in 0..<skipped { reject(.uncounted, at: offset, &rejections) }
    case .unannounced:
      reject(.unannounced, at: offset, &rejections)
    }
  }

  private mutating func rejectLines(at offset: Int, _ rejections: inout Rejections) {
    countsLines = true
    reject(.numstat, at: offset, &rejections)
    commit.passOverLines()
  }

  private func reject(
    _ reason: Rejection.Reason, at offset: Int, _ rejections: inout Rejections
  ) {
    rejections.add(Rejection(offset: offset, place: .within(commit.hash), reason: reason))
  }
}
