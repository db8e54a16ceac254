/// The last known model of a store while actions are under way, and the models around each action's commits.
///
/// Between actions no model is kept, so that other commits copy nothing.
struct ModelHistory<Model: Sendable>: Sendable {
  struct State: Sendable {
    let model: Model
    let version: UInt64
  }

  /// The models before and after the commits of one action.
  struct Span: Sendable {
    let old: State
    var new: State
    var commitCount: Int
  }

  /// The result of `end`.
  enum End: Sendable {
    /// The action was not begun here.
    case unknown
    /// No commit of the action is known, so the caller must pass the current model.
    case needsPresentModel
    /// The models around the action, and the model no longer kept, to be released outside of locks.
    case ended(Span, released: State?)
  }

  /// The last known model; nil while no action is under way.
  private var latest: State?
  /// The spans of the actions under way, by dispatch; nil before an action's first commit.
  private var spans: [DispatchID: Span?] = [:]

  /// Begins an action before it is scheduled; returns false if the current model must be passed.
  mutating func begin(_ id: DispatchID) -> Bool {
    guard latest != nil else { return false }
    spans[id] = .some(nil)
    return true
  }

  /// Begins an action while no other is under way; called under the store's lock, so that no commit is missed.
  mutating func begin(_ id: DispatchID, present: State) {
    latest = latest ?? present
    spans[id] = .some(nil)
  }

  /// Records a commit, with its action if known; returns the model to release.
  mutating func commit(_ state: State, by id: DispatchID?) -> State? {
    guard let replaced = latest else { return state }
    latest = state
    if let id, let span = spans[id] {
      spans[id] = Span(
        old: span?.old ?? replaced, new: state, commitCount: (span?.commitCount ?? 0) + 1)
    }
    return replaced
  }

  /// Ends an action.
  mutating func end(_ id: DispatchID) -> End {
    guard let span = spans[id] else { return .unknown }
    return span.map { remove(id, $0) } ?? .needsPresentModel
  }

  /// Ends an action without a known commit; changes since the last known commit were withheld from observers.
  mutating func end(_ id: DispatchID, present: State) -> End {
    // Another thread's commit, made after `present` was read, may be known by now.
    guard let former = latest, present.version > former.version else {
      let state = latest ?? present
      return remove(id, Span(old: state, new: state, commitCount: 0))
    }
    latest = present
    let count = Int(present.version - former.version)
    return remove(id, Span(old: former, new: present, commitCount: count))
  }

  private mutating func remove(_ id: DispatchID, _ span: Span) -> End {
    spans[id] = nil
    guard spans.isEmpty else { return .ended(span, released: nil) }
    defer { latest = nil }
    return .ended(span, released: latest)
  }
}
