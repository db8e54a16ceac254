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

  /// The last known model; nil while no action is under way.
  private var latest: State?
  /// The spans of the actions under way, by dispatch; nil before an action's first commit.
  private var spans: [DispatchID: Span?] = [:]

  /// Begins an action before it is scheduled; returns false if no other is under way: then call it again with the
  /// current model, under the store's lock, so that no commit is missed.
  mutating func begin(_ id: DispatchID, present: State?) -> Bool {
    latest = latest ?? present
    if latest == nil { return false }
    spans[id] = .some(nil)
    return true
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

  /// Ends an action; returns its models, and the last known one, to be released outside of locks.
  ///
  /// Nil if the action was not begun here.
  mutating func end(_ id: DispatchID) -> (span: Span, last: State)? {
    guard let span = spans.removeValue(forKey: id), let state = latest else { return nil }
    if spans.isEmpty { latest = nil }
    return (span ?? Span(old: state, new: state, commitCount: 0), state)
  }
}
