import DispatchStore

/// How far a test has asserted what its test store has recorded.
struct TestProgress: Sendable {
  var exhaustivity = Exhaustivity.on
  var settle: (@Sendable () async -> Void)?
  /// The store under test, and the other watched stores.
  var watches: [any AnyStoreWatch] = []
  /// The dispatches that the test has sent.
  var sent: Set<TransactionID> = []
  /// Those sent whose end has not been asserted.
  var open: Set<TransactionID> = []
  /// How many recorded transactions have been received or skipped.
  var received = 0
  /// The action that was asserted last.
  var last: TransactionID?

  /// The transactions that followed and were not received.
  func followed(in journal: Journal) -> [RecordedTransaction] {
    journal.transactions[received...].filter { $0.action != nil && !sent.contains($0.id) }
  }

  /// The first transaction that followed and was not received.
  func nextFollowed(in journal: Journal) -> RecordedTransaction? {
    journal.transactions[received...].first { $0.action != nil && !sent.contains($0.id) }
  }
}
