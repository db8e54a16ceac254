/// The sizes of all files, compared with git's count of the same commit.
struct GitComparison: Equatable, Sendable {
  static let shownExamples = 3

  /// Text files that were compared.
  private(set) var compared = 0
  /// Files that were binary at some time: git counts their present state, the history the former one.
  private(set) var leftAside = 0
  /// The number of files that differ from git's.
  private(set) var differing = 0
  /// The first files that differ.
  private(set) var examples: [String] = []

  var isEqual: Bool { differing == 0 }

  /// Compares with the records of `git diff --numstat -z` from the empty tree.
  init(_ sizes: [Path: FileSize], numstat: [UInt8]) throws(Failure) {
    var records = NumstatRecords()
    var splitter = FieldSplitter()
    do {
      try splitter.split(numstat.span, into: &records)
    } catch {
      throw Failure(.unavailable, "git diff: \(error.message)")
    }
    guard splitter.unfinished.isEmpty, !records.hasMalformed else {
      throw Failure(.unavailable, "git diff printed something else than its numstat records")
    }
    for path in Set(sizes.keys).union(records.sizes.keys).sorted() {
      compare(path, sizes[path], records.sizes[path])
    }
  }

  private mutating func compare(_ path: Path, _ own: FileSize?, _ git: FileSize?) {
    if own == .binary, git != nil {
      leftAside += 1
      return
    }
    compared += 1
    guard own != git else { return }
    differing += 1
    if examples.count < Self.shownExamples {
      examples.append("'\(path)' \(shown(own)) here, \(shown(git)) in git")
    }
  }

  private func shown(_ size: FileSize?) -> String {
    switch size {
    case .lines(let count): "\(count) lines"
    case .binary: "binary"
    case nil: "not there"
    }
  }
}

/// The records that `git diff --numstat -z` prints, of files that are all new.
private struct NumstatRecords: FieldConsumer {
  private(set) var sizes: [Path: FileSize] = [:]
  private(set) var hasMalformed = false

  mutating func take(_ field: Span<UInt8>, at offset: Int) {
    guard let record = RecordSyntax.numstat(field) else {
      hasMalformed = true
      return
    }
    let path = Path(ByteString(field.extracting(record.pathStart..<field.count)))
    sizes[path] = record.lines.map { .lines($0.added - $0.deleted) } ?? .binary
  }
}
