import DispatchStore

extension Bank {
  /// A lane per account: the transfers of one payer in order, payers beside each other.
  func transfer(_ transfers: [Transfer]) async throws {
    let handles = transfers.map { transfer in
      dispatcher.dispatch(action: transfer, mode: .serial(lane: transfer.from))
    }
    for handle in handles { try await handle.get() }
  }
}
