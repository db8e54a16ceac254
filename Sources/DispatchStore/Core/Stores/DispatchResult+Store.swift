extension DispatchResult {
  /// The outcome of a store; `notInvolved` if it took no part.
  ///
  /// For a sequence, of its last run.
  public subscript(store: some StoreType) -> StoreOutcome { self[store.identifier] }

  /// Returns the reply of a store to an action, for a dispatch that was not sent.
  ///
  /// Throws as `ReplyResult.reply(from:)` does.
  public func reply<Action: ActionType>(
    to action: Action.Type, from store: some StoreType
  ) throws -> Action.Reply {
    try reply(store.identifier)
  }
}

extension ReplyResult {
  /// The outcome of a store; `notInvolved` if it took no part.
  public subscript(store: some StoreType) -> StoreOutcome { result[store] }

  /// Returns the reply of a store.
  ///
  /// Throws the store's error, if it has one, or the dispatch's. Throws the dispatch's error also if that is why the
  /// store was cancelled or did not begin, and if the commits were not saved. If the store did not reply, throws a
  /// `DispatchError` with the code `noReply`.
  public func reply(from store: some StoreType) throws -> Reply {
    try result.reply(store.identifier)
  }
}
