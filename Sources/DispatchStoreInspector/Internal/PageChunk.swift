import DispatchStore

/// Entries in the form in which a page gets them: by column, since rows of their own would be twice as large.
///
/// There are three tables: the entries, the runs of their stores, and the changes of these. The first entry has the first
/// runs, as many as it says, and so on. Numbers that grow are differences from the row before. Texts are codes of
/// `strings`, and those of changes of `values`, so that a page reads changes only when one is shown. `decode` in
/// Inspector.html reads all that.
struct PageChunk {
  private var texts = TextTable()
  private var values = TextTable()
  private var entries = PageTable([
    "id", "parent", "kind", "type", "text", "mode", "lane", "began", "queued", "duration", "site",
    "error", "runs", "outcome",
  ])
  private var runs = PageTable([
    "store", "outcome", "detail", "queued", "duration", "version", "commits", "changes", "omitted",
    "replacement", "part",
  ])
  private var changes = PageTable(["element", "field", "old", "new"])
  /// The time from which times count, in milliseconds after the log's origin: a page's numbers have 53 bits, and nanoseconds
  /// since the origin more after 104 days.
  private let base: Int64
  /// The position in the log of the next entry.
  private var position: Int
  private var last: (id: Int64, began: Int64, element: String?) = (0, 0, nil)
  /// By store: the version after the last commit.
  private var versions: [String: UInt64] = [:]
  /// By element and field: the last new value, which is most often the next old one.
  private var lastValues: [Place: String] = [:]

  /// - Parameter position: The number of entries of the log before these.
  init(_ entries: [DispatchLog.Entry], after position: Int) {
    self.position = position
    base = (entries.first?.began.wholeNanoseconds ?? 0) / 1_000_000
    last.began = base * 1_000_000
    for entry in entries { add(entry) }
  }

  func write(to json: inout PageJSON) {
    json.object { json in
      json.member("base") { $0.number(base) }
      json.member("entries", entries.write)
      json.member("runs", runs.write)
      json.member("changes", changes.write)
      json.member("strings", texts.write)
      json.member("values", values.write)
    }
  }

  private mutating func add(_ entry: DispatchLog.Entry) {
    let began = entry.began.wholeNanoseconds
    // A change outside of dispatches has a negative number, of its position: several may come at the same time. -1 is none.
    let id = entry.id.map(Int64.init(clamping:)) ?? -2 - Int64(position)
    position += 1
    entries.add([
      id &- last.id,
      entry.parent.map { id &- Int64(clamping: $0) } ?? 0,
      [.action: 0, .sequence: 1, .change: 2][entry.kind]!,
      texts.code(of: entry.actions.map(\.type).joined(separator: ", ")),
      texts.code(of: entry.actions.map(\.text).joined(separator: "\n")),
      texts.code(of: entry.mode),
      texts.code(of: entry.lane),
      began &- last.began,
      entry.timeQueued.wholeNanoseconds,
      entry.duration.wholeNanoseconds,
      texts.code(of: entry.callSite),
      texts.code(of: entry.error),
      Int64(entry.stores.count),
      texts.code(of: entry.outcome?.rawValue),
    ])
    (last.id, last.began) = (id, began)
    for run in entry.stores { add(run, queued: entry.timeQueued) }
  }

  private mutating func add(_ run: DispatchLog.StoreRun, queued: Duration) {
    runs.add([
      texts.code(of: run.store),
      texts.code(of: run.outcome.rawValue),
      texts.code(of: run.detail),
      (run.timeQueued - queued).wholeNanoseconds,
      run.duration.wholeNanoseconds,
      Int64(clamping: run.oldVersion) &- Int64(clamping: versions[run.store] ?? 0),
      Int64(clamping: run.newVersion) &- Int64(clamping: run.oldVersion),
      Int64(run.differences.count),
      Int64(run.omittedCount),
      texts.code(of: run.replacement),
      run.tookPart ? 1 : 0,
    ])
    if run.newVersion != run.oldVersion { versions[run.store] = run.newVersion }
    for difference in run.differences { add(difference) }
  }

  /// Adds a difference, with codes of its texts: an element is 0 if it is that of the row before, and an old value if it is the last new one.
  private mutating func add(_ difference: DispatchLog.Difference) {
    let place = Place(path: difference.path)
    let isExpected = lastValues[place] == difference.old
    changes.add([
      place.element == last.element ? 0 : values.code(of: place.element),
      values.code(of: place.field),
      isExpected ? 0 : values.code(of: difference.old) + 1,
      values.code(of: difference.new),
    ])
    last.element = place.element
    lastValues[place] = difference.new
  }
}

/// A key path in two parts, since elements have the same fields: `orders["ann"]` and `.total`.
private struct Place: Hashable {
  let element: String
  let field: String

  init(path: String) {
    let (bracket, point) = (UInt8(ascii: "]"), UInt8(ascii: "."))
    var end = path.utf8.endIndex
    for (index, byte) in zip(path.utf8.indices, path.utf8.dropFirst())
    where byte == point && path.utf8[index] == bracket {
      end = path.utf8.index(after: index)
      break
    }
    (element, field) = (String(path[..<end]), String(path[end...]))
  }
}

/// A table by column.
private struct PageTable {
  private let names: [StaticString]
  private var columns: [[Int64]]

  init(_ names: [StaticString]) {
    self.names = names
    columns = Array(repeating: [], count: names.count)
  }

  mutating func add(_ row: [Int64]) {
    for (column, value) in row.enumerated() { columns[column].append(value) }
  }

  /// Writes the columns; one that has the same number in each row, as that number.
  func write(to json: inout PageJSON) {
    json.object { json in
      json.member("count") { $0.number(Int64(columns[0].count)) }
      for (name, column) in zip(names, columns) {
        json.member(name) { json in
          if let first = column.first, column.allSatisfy({ $0 == first }) {
            json.number(first)
          } else {
            json.array { json in for value in column { json.number(value) } }
          }
        }
      }
    }
  }
}

/// Texts, each once.
private struct TextTable {
  private var all: [String] = []
  private var indices: [String: Int] = [:]

  /// Returns 0 for none, 1 for a text's first use, which is the next one in the table, or its index and 2.
  mutating func code(of text: String?) -> Int64 {
    guard let text else { return 0 }
    if let index = indices[text] { return Int64(index) + 2 }
    indices[text] = all.count
    all.append(text)
    return 1
  }

  func write(to json: inout PageJSON) {
    json.array { json in for text in all { json.text(text) } }
  }
}
