/// The outcome of a dispatch of a replying action, with the replies of its stores.
public struct ReplyResult<Reply: Sendable>: Sendable {
  /// The outcome of the dispatch.
  public let result: DispatchResult
  /// The replies by store identifier, from stores that finished and replied.
  public let replies: [String: Reply]

  @usableFromInline
  init(_ result: DispatchResult) {
    self.result = result
    replies = result.replies(as: Reply.self)
  }

  /// The reply, if exactly one store replied.
  ///
  /// Throws the dispatch's first error, if it has one. Otherwise throws a `DispatchError` with the code `noReply` or
  /// `severalReplies`.
  public var reply: Reply {
    get throws {
      try result.get()
      if replies.count == 1, let reply = replies.values.first { return reply }
      throw replies.isEmpty ? noReply : severalReplies
    }
  }

  private var noReply: DispatchError {
    let stores = result.stores.map(\.storeIdentifier)
    return DispatchError(
      code: .noReply,
      message: """
        No store replied to dispatch \(result.dispatchID): \(Self.list(stores)) ran. Return the reply from the \
        block of an operation, or call finish(with:) or Reducer.reply(_:).
        """,
      storeIdentifiers: stores)
  }

  private var severalReplies: DispatchError {
    let stores = replies.keys.sorted()
    return DispatchError(
      code: .severalReplies,
      message: """
        \(stores.count) stores replied to dispatch \(result.dispatchID): \(Self.list(stores)). Read `replies`, \
        or send to one store.
        """,
      storeIdentifiers: stores)
  }

  private static func list(_ stores: [String]) -> String {
    stores.isEmpty ? "none" : stores.map { "\"\($0)\"" }.joined(separator: ", ")
  }
}

extension DispatchResult {
  /// Returns the replies to an action, by store identifier, from stores that finished and replied.
  ///
  /// `send` returns them with their type. A sequence has no replies itself: look in its `steps`.
  public func replies<Action: ReplyingAction>(to action: Action.Type) -> [String: Action.Reply] {
    replies(as: Action.Reply.self)
  }

  func replies<Reply>(as type: Reply.Type) -> [String: Reply] {
    if replies.isEmpty { return [:] }
    var typed: [String: Reply] = [:]
    for store in stores where store.outcome.isFinished || isPlanted(.failedReply) {
      typed[store.storeIdentifier] = replies[store.storeIdentifier] as? Reply
    }
    return typed
  }
}
