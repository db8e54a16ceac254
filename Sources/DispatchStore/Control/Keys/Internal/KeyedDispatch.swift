/// A dispatch with an idempotency key, from its admission to its end.
final class KeyedDispatch: DispatchCompanion, @unchecked Sendable {
  // because `state` is locked, and all else constant
  let key: IdempotencyKey
  let action: KeyedAction
  let dispatch: Dispatch
  private let table: IdempotencyTable
  /// Whether the dispatch ends before its commits are saved, if it has any; repeats that come later wait for that.
  private let endsUnsaved: Bool
  private let state = Locked(State())

  private struct State {
    /// The result in the row that was saved, or is about to be.
    var committed: DispatchResult?
    /// The result for repeats, once the key is recorded or free.
    var settled: DispatchResult?
    /// Ends with that result, for repeats that come after the dispatch has timed out.
    var settling: Dispatch?
  }

  init(
    _ key: IdempotencyKey, _ action: KeyedAction, _ dispatch: Dispatch, in table: IdempotencyTable
  ) {
    (self.key, self.action, self.dispatch, self.table) = (key, action, dispatch, table)
    endsUnsaved = dispatch.details?.endsUnsaved == true && table.maySave(dispatch)
  }

  /// The dispatch whose end, and result, a repeat waits for.
  ///
  /// If a dispatch has ended while its commit is being saved, that is the end of saving.
  var awaited: Dispatch {
    guard let result = dispatch.result, endsUnsaved || !result.isSuccess else { return dispatch }
    let (settling, settled): (Dispatch, DispatchResult?) = state.withLock { state in
      if state.committed == nil { return (dispatch, nil) }
      if let settling = state.settling { return (settling, nil) }
      let settling = Dispatch(standIn: .make(on: .current), at: dispatch.callSite)
      state.settling = settling
      return (settling, state.settled)
    }
    if let settled { settling.end(settled) }
    return settling
  }

  /// Whether its row was saved, or is about to be.
  var hasRow: Bool { state.withLock { $0.committed != nil } }

  override func rows(
    with replies: [String: any Sendable], from identifiers: [String]
  ) -> [CompanionRow] {
    if isPlanted(.keyAtAcknowledgement) { return [] }
    return rows(
      for: DispatchResult(dispatchID: dispatch.id, identifiers: identifiers, replies: replies))
  }

  override func rows(of result: DispatchResult) -> [CompanionRow] {
    guard state.withLock({ $0.committed == nil }), let outcome = outcome(of: result) else {
      return []
    }
    return rows(for: outcome)
  }

  private func rows(for result: DispatchResult) -> [CompanionRow] {
    if key.period <= 0 { return [] }
    state.withLock { $0.committed = result }
    let value = KeyRowValue(
      key: key, action: action, result: result, expires: table.unixMilliseconds(after: key.period))
    return [CompanionRow(kind: .idempotencyKey, key: key.text.inFormC, value: value)]
  }

  /// The result to remember: of a success, or if asked for, of an error of the program's own; nil for any other.
  private func outcome(of result: DispatchResult) -> DispatchResult? {
    guard let error = result.error else { return hasRun(result) ? result : nil }
    // The deadline has passed while the stores were finishing: the change is there, and must not be made again.
    if let finished = result.withFinishedStores { return finished }
    let isOwn = !(error is CancellationError || error is DispatchError)
    return isOwn && key.remembersFailures ? result : nil
  }

  /// Whether a store has responded, or an effect follows: if the action ran again, that would happen twice.
  private func hasRun(_ result: DispatchResult) -> Bool {
    result.hasResponders || dispatch.details?.withState(\.isFollowed) == true
  }

  override func ended(_ result: DispatchResult, of details: DispatchDetails) {
    let committed = state.withLock(\.committed)
    // If a commit is not saved, a repeat has to run again.
    guard !details.hasLostCommit, key.period > 0,
      let outcome = committed ?? outcome(of: result)
    else { return settle(nil, result) }
    // Stores in memory lose their change with the process, and so must the key.
    let isEarly =
      endsUnsaved && (committed != nil || details.withState(\.hasPersistentStore))
    if committed == nil, isEarly { table.keeper?.save(rows(for: outcome)) }
    // The dispatch may have ended while it was being saved. A repeat must not get the recorded result before that.
    guard isEarly || committed != nil && !result.isSuccess, !isPlanted(.unsavedAnswer) else {
      return settle(outcome, result, isSaved: committed != nil)
    }
    table.whenSaved { isSaved in
      if isSaved { return self.settle(outcome, result, isSaved: true) }
      let error = result.error ?? DispatchError.answerNotSaved(self.key.text)
      self.settle(nil, DispatchResult(dispatchID: self.dispatch.id, error: error))
    }
  }

  /// Records the key, or frees it, and then ends what waits for that.
  private func settle(_ outcome: DispatchResult?, _ result: DispatchResult, isSaved: Bool = false) {
    if let outcome {
      table.record(outcome, of: self, isSaved: isSaved)
    } else {
      table.leave(self)
    }
    let settling = state.withLock { state in
      state.settled = outcome ?? result
      return state.settling
    }
    settling?.end(outcome ?? result)
  }
}

extension DispatchResult {
  /// Whether there are stores, and all have finished, although the dispatch may have failed.
  var haveStoresFinished: Bool {
    let stores = stores
    return !stores.isEmpty && stores.allSatisfy(\.outcome.isFinished) && skippedActionCount == 0
  }

  /// The result without its own error, if all of its stores have finished nevertheless.
  fileprivate var withFinishedStores: DispatchResult? {
    guard haveStoresFinished else { return nil }
    if !steps.isEmpty {
      return DispatchResult(
        dispatchID: dispatchID, steps: steps, skippedActionCount: 0, error: nil)
    }
    return DispatchResult(
      dispatchID: dispatchID, identifiers: stores.map(\.storeIdentifier), replies: replies)
  }
}

extension DispatchError {
  fileprivate static func answerNotSaved(_ key: String) -> DispatchError {
    DispatchError(
      code: .persistenceFailed,
      message: """
        The first dispatch with the idempotency key "\(key)" has ended, and it is not known whether its commits were \
        saved, because saving has failed meanwhile. Repeat it once the program runs again.
        """)
  }
}
