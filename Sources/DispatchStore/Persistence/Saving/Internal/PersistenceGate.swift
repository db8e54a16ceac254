/// The gate of dispatches to persistent stores: their end waits until everything is saved.
final class PersistenceGate: EndGate, @unchecked Sendable {
  // because the persistence's lock guards its mutable state
  private let persistence: Persistence
  private let storeIdentifier: String
  /// Whether another store has been registered under the identifier.
  var isReplaced = false

  init(_ persistence: Persistence, _ storeIdentifier: String) {
    (self.persistence, self.storeIdentifier) = (persistence, storeIdentifier)
  }

  override var database: AnyObject { persistence }

  override var refusal: DispatchError? {
    persistence.state.withLock(\.commit.failure).map { .refused($0) }
  }

  override var refusalOfStore: DispatchError? {
    guard persistence.state.withLock({ _ in isReplaced }) else { return nil }
    return .replaced("Store \"\(storeIdentifier)\" was not run", [storeIdentifier])
  }

  override var commitNumber: UInt64 { persistence.state.withLock(\.commit.last) }

  override func admit(_ start: HeldStart, mayReject: Bool) -> Admission {
    persistence.state.withLock { $0.commit.admit(start, mayReject: mayReject) }
  }

  override func forget(_ start: HeldStart) {
    persistence.state.withLock { $0.commit.forget(start) }
  }

  override func keep(_ rows: [CompanionRow]) { persistence.keep(rows) }

  override func enter(_ end: PendingEnd) -> Bool {
    persistence.state.withLock { state in
      let mayPass = state.commit.enter(end)
      if end.dispatch.details?.hasLostCommit == true {
        end.error = .replaced("What the dispatch has committed was not saved", isAfterCommit: true)
      }
      return mayPass
    }
  }

  override func lead(_ end: PendingEnd) { persistence.lead(end) }

  override func left(_ end: PendingEnd) { persistence.resume(persistence.nextEnds(after: end)) }

  override func resume(_ end: PendingEnd) { persistence.resume([end]) }
}

extension DispatchError {
  static func replaced(
    _ consequence: String, _ storeIdentifiers: [String] = [], isAfterCommit: Bool = false
  ) -> DispatchError {
    DispatchError(
      code: .persistenceFailed,
      message: """
        \(consequence): a store was unregistered, and since then its rows were deleted, or another store has been \
        registered under its identifier. Dispatch the action again: it goes to the stores that are registered then. The \
        former store itself can only be registered again with persisted:.
        """, storeIdentifiers: storeIdentifiers, isAfterCommit: isAfterCommit)
  }

  static func refused(_ error: PersistenceError) -> DispatchError {
    DispatchError(
      code: .persistenceFailed,
      message: "The store was not run, since its state can't be saved any longer: \(error.message)",
      cause: error)
  }
}

extension Persistence {
  /// Lets ends pass; one whose dispatch has timed out only lets the next ones of its lanes pass.
  func resume(_ ends: [PendingEnd]) {
    var rest = ends[...]
    while let end = rest.popFirst() {
      if !end.resume() { rest += nextEnds(after: end) }
    }
  }

  fileprivate func nextEnds(after end: PendingEnd) -> [PendingEnd] {
    state.withLock { $0.commit.left(end) }
  }
}
