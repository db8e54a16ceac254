/// The gate of dispatches to persistent stores: their end waits until everything is saved.
final class PersistenceGate: EndGate, @unchecked Sendable {  // because it has only constants
  private let persistence: Persistence

  init(_ persistence: Persistence) { self.persistence = persistence }

  override var refusal: DispatchError? {
    persistence.state.withLock(\.commit.failure).map { .refused($0) }
  }

  override var position: UInt64 { persistence.state.withLock(\.commit.last) }

  override func admit(_ start: HeldStart) -> Admission {
    persistence.state.withLock { state in
      let bytes = Int(clamping: state.commit.lag) * state.bytesPerCommit
      return state.commit.admit(start, bytes: bytes)
    }
  }

  override func forget(_ start: HeldStart) {
    persistence.state.withLock { $0.commit.forget(start) }
  }

  override func keep(_ rows: [CompanionRow]) { persistence.keep(rows) }

  override func enter(_ end: PendingEnd) -> Bool {
    persistence.state.withLock { $0.commit.enter(end) }
  }

  override func lead(_ end: PendingEnd) { persistence.lead(end) }

  override func left(_ end: PendingEnd) { persistence.resume(persistence.nextEnds(after: end)) }

  override func resume(_ end: PendingEnd) { persistence.resume([end]) }
}

extension DispatchError {
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
