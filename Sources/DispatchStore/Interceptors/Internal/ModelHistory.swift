/// What is known of a store's models while actions are under way: the last one, and those around each action's commits.
///
/// Between actions it keeps none, so that a commit outside of one copies nothing.
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

  /// What `end` returns.
  enum End: Sendable {
    /// The action was not begun here.
    case unknown
    /// No commit of it is known: the present model has to be passed.
    case needsPresentModel
    /// The models around it, and the one that is no longer kept, to be released outside of locks.
    case ended(Span, released: State?)
  }

  /// The last model that is known; nil while no action is under way.
  private var latest: State?
  /// By transaction, of the actions under way; nil before their first commit.
  private var spans: [TransactionID: Span?] = [:]

  /// An action is about to be scheduled; false where the present model has to be passed.
  mutating func begin(_ id: TransactionID) -> Bool {
    guard latest != nil else { return false }
    spans[id] = .some(nil)
    return true
  }

  /// The same where no other one is under way; called in the store's lock, so that no commit comes between.
  mutating func begin(_ id: TransactionID, present: State) {
    latest = latest ?? present
    spans[id] = .some(nil)
  }

  /// A commit, and the action that made it where that is known; returns what is to be released.
  mutating func commit(_ state: State, by id: TransactionID?) -> State? {
    guard let replaced = latest else { return state }
    latest = state
    if let id, let span = spans[id] {
      spans[id] = Span(
        old: span?.old ?? replaced, new: state, commitCount: (span?.commitCount ?? 0) + 1)
    }
    return replaced
  }

  /// An action has ended.
  mutating func end(_ id: TransactionID) -> End {
    guard let span = spans[id] else { return .unknown }
    return span.map { remove(id, $0) } ?? .needsPresentModel
  }

  /// The same where no commit of it is known: what has changed since the last one that is, was withheld.
  mutating func end(_ id: TransactionID, present: State) -> End {
    // Another thread's commit may be known by now that is not in `present`.
    guard let former = latest, present.version > former.version else {
      let state = latest ?? present
      return remove(id, Span(old: state, new: state, commitCount: 0))
    }
    latest = present
    let count = Int(present.version - former.version)
    return remove(id, Span(old: former, new: present, commitCount: count))
  }

  private mutating func remove(_ id: TransactionID, _ span: Span) -> End {
    spans[id] = nil
    guard spans.isEmpty else { return .ended(span, released: nil) }
    defer { latest = nil }
    return .ended(span, released: latest)
  }
}
