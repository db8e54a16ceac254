/// What is known of a store's models: the last one, and those around the commits of each action under way.
struct ModelHistory<Model: Sendable>: Sendable {
  struct State: Sendable {
    let model: Model
    let version: UInt64
  }

  /// The models around what one action has committed.
  struct Span: Sendable {
    let old: State
    var new: State
    var commitCount: Int
  }

  private var latest: State
  /// By transaction, of the actions under way; nil before their first commit.
  private var spans: [TransactionID: Span?] = [:]

  init(_ latest: State) {
    self.latest = latest
  }

  mutating func begin(_ id: TransactionID) {
    spans[id] = .some(nil)
  }

  /// A commit, and the action that made it where that is known; returns what is to be released.
  mutating func commit(_ state: State, by id: TransactionID?) -> State {
    let replaced = latest
    latest = state
    if let id, let span = spans[id] {
      spans[id] = Span(
        old: span?.old ?? replaced, new: state, commitCount: (span?.commitCount ?? 0) + 1)
    }
    return replaced
  }

  /// The action has ended; nil where no commit of it is known.
  mutating func takeSpan(of id: TransactionID) -> Span? {
    spans.removeValue(forKey: id) ?? nil
  }

  /// The models around an action of which no commit is known; what has changed since the last one was withheld.
  mutating func spanWithoutCommit(present: State) -> (span: Span, replaced: State) {
    let replaced = latest
    // A commit made meanwhile may be known by now.
    guard present.version > latest.version else {
      return (Span(old: latest, new: latest, commitCount: 0), replaced)
    }
    latest = present
    let count = Int(present.version - replaced.version)
    return (Span(old: replaced, new: present, commitCount: count), replaced)
  }
}
