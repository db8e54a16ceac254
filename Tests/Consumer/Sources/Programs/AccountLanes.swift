import DispatchStore

extension Bank {
  /// A lane per account: transfers of one payer run in order, those of several payers concurrently.
  func transfer(_ transfers: [Transfer]) async throws {
    let handles = transfers.map { transfer in
      dispatcher.dispatch(action: transfer, mode: .serial(lane: transfer.from))
    }
    for handle in handles { try await handle.get() }
  }
}
