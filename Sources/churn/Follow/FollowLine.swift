import DispatchStore

/// A line of the file to follow.
enum FollowLine {
  /// A replay begins: all earlier lines are of another one.
  case replay(ReplayTitle, copies: Int)
  /// No earlier answer of a store holds any longer.
  case reset(store: String, version: UInt64)
  /// An answer of a store, after a commit with this number.
  case answer(store: String, version: UInt64, change: Change, key: FollowedKey, value: JSONValue?)
  /// The replay has ended, perhaps early: the lines since its beginning give its answers up to there.
  case end(ReplayTitle, isCut: Bool, commits: Int, changes: Int)

  /// The effect on an answer.
  enum Change: String { case inserted, changed, removed }

  /// The line, with its newline.
  var text: String { JSONValue.object(members).line + "\n" }

  private var members: [(name: String, value: JSONValue)] {
    switch self {
    case .replay(let title, let copies):
      [
        ("replay", .string(title.mode)), ("round", .int(title.round)),
        ("rounds", .int(title.rounds)), ("copies", .int(copies)),
      ]
    case .reset(let store, let version):
      Self.head(store, version, "reset")
    case .answer(let store, let version, let change, let key, let value):
      Self.head(store, version, change.rawValue) + key.members
        + (value.map { [("value", $0)] } ?? [])
    case .end(let title, let isCut, let commits, let changes):
      [
        (isCut ? "cut" : "end", .string(title.mode)), ("round", .int(title.round)),
        ("commits", .int(commits)), ("changes", .int(changes)),
      ]
    }
  }

  private static func head(
    _ store: String, _ version: UInt64, _ change: String
  ) -> [(name: String, value: JSONValue)] {
    [
      ("store", .string(store)), ("version", .int(Int(version))), ("change", .string(change)),
    ]
  }
}

extension FollowLine {
  /// The lines for a delta in the answers of a store: one for each changed key.
  static func text<Key: FigureKey, Value: FollowedValue>(
    of delta: KeyedDelta<Key, Value>, store: String
  ) -> String {
    let version = delta.versions.upperBound
    var text = delta.isReset ? FollowLine.reset(store: store, version: version).text : ""
    func add(_ key: Key, _ old: Value.Answer?, _ new: Value.Answer?) {
      if old == new { return }
      let change: Change = old == nil ? .inserted : new == nil ? .removed : .changed
      let line = FollowLine.answer(
        store: store, version: version, change: change, key: key.followedKey,
        value: new.map(Value.json))
      text += line.text
    }
    for (key, value) in delta.inserted { add(key, nil, value.answer) }
    for (key, change) in delta.changed { add(key, change.old.answer, change.new.answer) }
    for (key, value) in delta.removed { add(key, value.answer, nil) }
    return text
  }
}
