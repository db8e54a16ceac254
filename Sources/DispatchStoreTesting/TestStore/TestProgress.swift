import DispatchStore

/// The progress of a test in asserting the records of its test store.
struct TestProgress: Sendable {
  var exhaustivity = Exhaustivity.on
  var settle: (@Sendable () async -> Void)?
  /// The store under test, and the other watched stores.
  var watches: [any AnyStoreWatch] = []
  /// The dispatches that the test has sent.
  var sent: Set<DispatchID> = []
  /// The names of the dispatches that the test has sent and whose end has not been asserted.
  var open: [DispatchID: String] = [:]
  /// The number of recorded dispatches that have been received or skipped.
  var received = 0
  /// The dispatches that followed instead of an expected one, of which a failure has told.
  var mistaken: Set<DispatchID> = []
  /// The action that was asserted last.
  var last: DispatchID?

  /// Returns the dispatches that followed and were not received.
  ///
  /// Lazy, since most callers ask for the first one, at each event.
  func followed(in journal: Journal) -> some Collection<RecordedDispatch> {
    journal.dispatches[received...].lazy.filter { $0.action != nil && !sent.contains($0.id) }
  }

  /// Returns the sent dispatches that have ended without an assertion of that, with their outcomes.
  func unassertedEnds(in journal: Journal) -> [(id: DispatchID, line: String)] {
    open.sorted { $0.key < $1.key }.compactMap { id, name in
      journal.result(of: id).map { (id: id, line: "\(name): \(ExpectedEnd.describe($0.error))") }
    }
  }
}

/// The next event that a test asserts.
enum NextEvent<Event: Sendable>: Sendable {
  case event(Event)
  /// Nothing is under way that could lead to one.
  case nothing
}
