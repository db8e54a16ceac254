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
    guard committed.withLock({ $0 == nil }), isRemembered(result) else { return [] }
    return rows(for: result)
  }

  private func rows(for result: DispatchResult) -> [CompanionRow] {
    if key.period <= 0 { return [] }
    committed.withLock { $0 = result }
    let value = KeyRowValue(
      key: key, action: action, result: result, expires: table.unixMilliseconds(after: key.period))
    return [CompanionRow(kind: .idempotencyKey, key: key.text.inFormC, value: value)]
  }

  /// Whether a result is remembered: a success, or if asked for, an error of the program's own.
  private func isRemembered(_ result: DispatchResult) -> Bool {
    guard let error = result.error else { return true }
    return key.remembersFailures && !(error is CancellationError || error is DispatchError)
  }

  override func ended(_ result: DispatchResult) {
    let committed = committed.withLock { $0 }
    guard key.period > 0, committed != nil || isRemembered(result) else { return table.leave(self) }
    guard let committed, !result.isSuccess, !isRemembered(result) else {
      return table.record(result, of: self, isSaved: committed != nil)
    }
    // The dispatch has timed out while it was being saved. A repeat must not get the recorded result before it is saved.
    if isPlanted(.unsavedAnswer) { return table.record(committed, of: self, isSaved: true) }
    table.whenSaved { isSaved in
      if isSaved {
        self.table.record(committed, of: self, isSaved: true)
      } else {
        self.table.leave(self)
      }
    }
  }
}
