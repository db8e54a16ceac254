import DispatchStore

/// How far a test has come with what its test store has recorded.
struct TestProgress: Sendable {
  var exhaustivity = Exhaustivity.on
  var settle: (@Sendable () async -> Void)?
  /// The store under test, and those watched beside it.
  var watches: [any AnyStoreWatch] = []
  /// What the test itself has dispatched.
  var sent: Set<TransactionID> = []
  /// Of those, the ones whose end has not been asserted.
  var open: Set<TransactionID> = []
  /// How many transactions have been received or passed over.
  var received = 0
  /// The action that was asserted last.
  var last: TransactionID?

  /// What followed, and was not received.
  func followed(in journal: Journal) -> [RecordedTransaction] {
    journal.transactions[received...].filter { $0.action != nil && !sent.contains($0.id) }
  }

  /// The first of what followed and was not received.
  func nextFollowed(in journal: Journal) -> RecordedTransaction? {
    journal.transactions[received...].first { $0.action != nil && !sent.contains($0.id) }
  }
}
