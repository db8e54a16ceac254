/// A dispatch with an idempotency key, from its admission to its end.
final class KeyedDispatch: DispatchCompanion, @unchecked Sendable {
  // because `committed` is locked, and all else constant
  let key: IdempotencyKey
  let action: KeyedAction
  let dispatch: Dispatch
  private let table: IdempotencyTable
  /// The result in the row that was saved, or is about to be.
  private let committed = Locked<DispatchResult?>(nil)

  init(
    _ key: IdempotencyKey, _ action: KeyedAction, _ dispatch: Dispatch, in table: IdempotencyTable
  ) {
    (self.key, self.action, self.dispatch, self.table) = (key, action, dispatch, table)
  }

  override func rows(
    with replies: [String: any Sendable], from identifiers: [String]
  ) -> [CompanionRow] {
    if isPlanted(.keyAtAcknowledgement) { return [] }
    return rows(
      for: DispatchResult(dispatchID: dispatch.id, identifiers: identifiers, replies: replies))
  }

  override func rows(of result: DispatchResult) -> [CompanionRow] {
    guard committed.withLock({ $0 == nil }), let outcome = outcome(of: result) else { return [] }
    return rows(for: outcome)
  }

  private func rows(for result: DispatchResult) -> [CompanionRow] {
    if key.period <= 0 { return [] }
    committed.withLock { $0 = result }
    let value = KeyRowValue(
      key: key, action: action, result: result, expires: table.unixMilliseconds(after: key.period))
    return [CompanionRow(kind: .idempotencyKey, key: key.text.inFormC, value: value)]
  }

  /// The result to remember: of a success, or if asked for, of an error of the program's own; nil for any other.
  private func outcome(of result: DispatchResult) -> DispatchResult? {
    guard let error = result.error else { return result }
    // The deadline has passed while the stores were finishing: the change is there, and must not be made again.
    if let finished = result.withFinishedStores { return finished }
    let isOwn = !(error is CancellationError || error is DispatchError)
    return isOwn && key.remembersFailures ? result : nil
  }

  override func ended(_ result: DispatchResult) {
    let committed = committed.withLock { $0 }
    guard key.period > 0, let outcome = committed ?? outcome(of: result) else {
      return table.leave(self)
    }
    guard committed != nil, !result.isSuccess else {
      return table.record(outcome, of: self, isSaved: committed != nil)
    }
    // The dispatch may have timed out while it was being saved. A repeat must not get the recorded result before that.
    if isPlanted(.unsavedAnswer) { return table.record(outcome, of: self, isSaved: true) }
    table.whenSaved { isSaved in
      if isSaved {
        self.table.record(outcome, of: self, isSaved: true)
      } else {
        self.table.leave(self)
      }
    }
  }
}

extension DispatchResult {
  /// The result without its own error, if all of its stores have finished nevertheless.
  fileprivate var withFinishedStores: DispatchResult? {
    let stores = stores
    guard !stores.isEmpty, stores.allSatisfy(\.outcome.isFinished), skippedActionCount == 0 else {
      return nil
    }
    if !steps.isEmpty {
      return DispatchResult(
        dispatchID: dispatchID, steps: steps, skippedActionCount: 0, error: nil)
    }
    return DispatchResult(
      dispatchID: dispatchID, identifiers: stores.map(\.storeIdentifier), replies: replies)
  }
}
