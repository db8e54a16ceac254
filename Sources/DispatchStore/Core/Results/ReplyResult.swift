/// The outcome of a sent action, with the replies of its stores.
///
///     let receipt = try await shop.send(Charge(amount: 5)).reply
///
/// It has all properties of its `DispatchResult`.
@dynamicMemberLookup
public struct ReplyResult<Reply: Sendable>: Sendable {
  /// The outcome of the dispatch.
  public let result: DispatchResult

  @inlinable
  init(_ result: DispatchResult) {
    self.result = result
  }

  /// A property of the result.
  public subscript<Value>(dynamicMember path: KeyPath<DispatchResult, Value>) -> Value {
    result[keyPath: path]
  }

  /// The outcome of the store with this identifier; `notInvolved` if none took part.
  public subscript(storeIdentifier: String) -> StoreOutcome { result[storeIdentifier] }

  /// Returns the result on success, and throws its first error otherwise.
  @discardableResult
  public func get() throws -> DispatchResult { try result.get() }

  /// The replies by store identifier, from stores that finished and replied; empty if `Reply` is `Void`.
  ///
  /// Also empty if a crash could still undo them: the dispatch was not saved, or timed out before it was.
  public var replies: [String: Reply] { result.replies(as: Reply.self) }

  /// The reply, if exactly one store replied.
  ///
  /// Throws the dispatch's first error if it failed, else a `DispatchError` of the code `noReply` or `severalReplies`.
  /// If `Reply` is `Void`, it only throws the first error.
  public var reply: Reply {
    get throws { try result.reply(nil) }
  }
}

extension DispatchResult {
  /// Returns the replies to an action, by store identifier, from stores that finished and replied.
  ///
  /// Returns none if a crash could still undo them: the dispatch was not saved, or timed out before it was.
  ///
  /// A sequence has no replies itself: look in its `steps`.
  public func replies<Action: ActionType>(to action: Action.Type) -> [String: Action.Reply] {
    replies(as: Action.Reply.self)
  }

  /// Returns the reply of a store, or the only reply if no store is named.
  func reply<Reply: Sendable>(_ storeIdentifier: String?) throws -> Reply {
    if isUnsaved { try get() }
    if let outcome = storeIdentifier.map({ self[$0] }), let error = outcome.error {
      // The dispatch knows why the store was cancelled.
      throw outcome.isCancelled ? ownError ?? error : error
    }
    // A store may have replied although another one failed.
    let replies = typedReplies(as: Reply.self)
    if let reply = replies.first(where: { $0.store == storeIdentifier }) { return reply.value }
    try get()
    if let nothing = () as? Reply { return nothing }
    guard storeIdentifier == nil, let reply = replies.first else { throw noReply(storeIdentifier) }
    if replies.count > 1 { throw severalReplies(replies.map(\.store).sorted()) }
    return reply.value
  }

  func replies<Reply>(as type: Reply.Type) -> [String: Reply] {
    Dictionary(typedReplies(as: type).map { ($0.store, $0.value) }) { $1 }
  }

  private func typedReplies<Reply>(as type: Reply.Type) -> [(store: String, value: Reply)] {
    if replies.isEmpty || isUnsaved { return [] }
    return stores.compactMap { store in
      guard store.outcome.isFinished || isPlanted(.failedReply) else { return nil }
      return (replies[store.storeIdentifier] as? Reply).map { (store.storeIdentifier, $0) }
    }
  }

  /// Whether the stores have ended, and a crash could undo what they have replied.
  private var isUnsaved: Bool { dispatchError?.isAfterCommit == true }

  private func noReply(_ storeIdentifier: String?) -> DispatchError {
    let stores = stores.map(\.storeIdentifier)
    let who = storeIdentifier.map { "Store \"\($0)\" did not reply" } ?? "No store replied"
    return DispatchError(
      code: .noReply,
      message: """
        \(who) to dispatch \(dispatchID): \(Self.list(stores)) ran. Return the reply from the handler or the block of \
        an operation, or call finish(with:) or Reducer.reply(_:).
        """,
      storeIdentifiers: storeIdentifier.map { [$0] } ?? stores)
  }

  private func severalReplies(_ stores: [String]) -> DispatchError {
    DispatchError(
      code: .severalReplies,
      message: """
        \(stores.count) stores replied to dispatch \(dispatchID): \(Self.list(stores)). Ask for reply(from:), or send \
        to one store.
        """,
      storeIdentifiers: stores)
  }

  private static func list(_ stores: [String]) -> String {
    stores.isEmpty ? "none" : stores.map { "\"\($0)\"" }.joined(separator: ", ")
  }
}
