extension Dispatch {
  /// Whether its stores are persistent.
  var hasEndGate: Bool {
    route?._withUnsafeGuaranteedRef { $0.endGate != nil } == true
  }
}

extension IdempotencyTable {
  /// Decides about a dispatch with a key; nil if it runs, or the dispatch in flight that it joins.
  ///
  /// Throws the recorded result, or the reason why the dispatch must not run.
  ///
  /// - Parameters:
  ///   - list: The actions of a list.
  ///   - known: The answer that the key had when the dispatch was made.
  func admit(
    _ dispatch: Dispatch, _ key: IdempotencyKey, _ list: [any ActionType], _ known: Table.Entry?
  ) throws -> Dispatch? {
    if key.text.isEmpty { throw DispatchError.emptyKey }
    let action =
      dispatch.actionBeforeStart.map { KeyedAction.action(KeyedValue($0)) }
      ?? .list(list.map(KeyedValue.init))
    switch try known ?? begin(dispatch, key, action) {
    case nil: return nil
    case .inFlight(let leader):
      guard leader.action.isRepeated(by: action, keeper) else {
        throw DispatchError.keyReused(key.text, action.name(keeper), leader.action.name(keeper))
      }
      return leader.awaited
    case .recorded(let record, _):
      guard record.action.isRepeated(by: action, keeper) else {
        throw DispatchError.keyReused(key.text, action.name(keeper), record.action.name(keeper))
      }
      throw RecordedResult(result: try record.result(of: key.text, for: dispatch, action, keeper))
    }
  }

  /// Begins the dispatch, unless its key has an answer since.
  private func begin(
    _ dispatch: Dispatch, _ key: IdempotencyKey, _ action: KeyedAction
  ) throws -> Table.Entry? {
    try check(key, action, dispatch)
    return begin(key.text) {
      let keyed = KeyedDispatch(key, action, dispatch, in: self)
      dispatch.makeDetails().companions.append(keyed)
      return keyed
    }
  }

  /// Whether the key of a dispatch may be saved: its stores are persistent, or not known at its admission, because it is
  /// a list.
  func maySave(_ dispatch: Dispatch) -> Bool {
    dispatch.route?._withUnsafeGuaranteedRef {
      $0.endGate != nil || $0.isUnanswered && keeper != nil
    } == true
  }

  /// Throws if the key's record could not be saved with the commits of persistent stores.
  private func check(_ key: IdempotencyKey, _ action: KeyedAction, _ dispatch: Dispatch) throws {
    guard key.period > 0, maySave(dispatch) else { return }
    if key.text.utf8.contains(0) { throw DispatchError.keyNotSaved(key.text, "It has U+0000.") }
    if !CompanionRow.canHave(key: key.text) {
      let (size, most) = (key.text.utf8.count, CompanionRow.maxKeySize)
      throw DispatchError.keyNotSaved(key.text, "It has \(size) bytes, and may have \(most).")
    }
    guard dispatch.hasEndGate, let reply = action.replyType, reply != Void.self,
      !(reply is any Codable.Type)
    else {
      return
    }
    throw DispatchError.keyNotSaved(
      key.text, "The reply of \(action.name(keeper)) is a \(reply), which is not Codable.",
      .replyNotEncodable)
  }
}
