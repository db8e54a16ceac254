import Foundation

/// The outcome that an idempotency key stands for.
///
/// A class, so that a table of many keys moves references.
final class KeyRecord: Sendable {
  let action: KeyedAction
  let outcome: Outcome
  /// Whether its row is in the database.
  let isSaved: Bool

  init(action: KeyedAction, outcome: Outcome, isSaved: Bool) {
    (self.action, self.outcome, self.isSaved) = (action, outcome, isSaved)
  }

  enum Outcome: Sendable {
    case result(DispatchResult)
    /// The outcome as it was loaded: replies are decoded once a repeat says of which type they are.
    case saved(SavedOutcome)
  }

  /// The result of a repeat; throws if a recorded reply can't be decoded.
  func result(
    of key: String, for dispatch: Dispatch, _ action: KeyedAction, _ keeper: CompanionKeeper?
  ) throws -> DispatchResult {
    switch outcome {
    case .result(let result): result
    case .saved(let outcome):
      DispatchResult(
        dispatchID: dispatch.id, identifiers: outcome.stores,
        replies: try outcome.replies(to: action, key, keeper),
        error: outcome.error.map { DispatchError.failedBefore(key, $0) })
    }
  }
}

/// The outcome in the row of an idempotency key.
struct SavedOutcome: Codable, Sendable {
  let stores: [String]
  let replies: [String: SavedValue]
  /// The text of the error of a failed dispatch.
  let error: String?

  fileprivate func replies(
    to action: KeyedAction, _ key: String, _ keeper: CompanionKeeper?
  ) throws -> [String: any Sendable] {
    if replies.isEmpty { return [:] }
    let reply = action.replyType
    guard let keeper, let type = reply as? CompanionKeeper.DecodableType else {
      throw DispatchError.replyNotDecodable(
        key, replies.keys.min()!, "\(action.name(keeper)) has no Codable reply.", cause: nil)
    }
    return try Dictionary(
      uniqueKeysWithValues: replies.map { store, value in
        do {
          return (store, try keeper.decode(type, value.data))
        } catch {
          throw DispatchError.replyNotDecodable(
            key, store, "It is no \(type): \(error).", cause: error)
        }
      })
  }
}

/// The row of an idempotency key.
struct KeyRow: Codable {
  let action: String
  let value: SavedValue?
  /// When the key is forgotten, in milliseconds since 1970.
  let expires: Int64
  let outcome: SavedOutcome
}

/// The value of the row, before it is encoded.
struct KeyRowValue: CompanionValue {
  let key: IdempotencyKey
  let action: KeyedAction
  let result: DispatchResult
  let expires: Int64

  var description: String { "the record of the idempotency key \"\(key.text)\"" }

  func encoded(by encoder: CompanionEncoder) throws -> Data {
    var replies: [String: SavedValue] = [:]
    if result.error == nil {
      // A repeat decodes replies of the action's own type alone. The reducer of a part may have replied to another one.
      for (store, reply) in result.replies where action.isAnswered(by: reply) {
        guard let reply = reply as? any Encodable else { continue }
        replies[store] = encoder.save(reply, "the reply in \(description)")
      }
    }
    let outcome = SavedOutcome(
      stores: result.error == nil ? result.stores.map(\.storeIdentifier) : [], replies: replies,
      error: result.error.map { "\($0)" })
    return try encoder.encode(
      KeyRow(
        action: action.name(by: encoder.name),
        value: action.comparable.map { encoder.save($0, "the action in \(description)") },
        expires: expires, outcome: outcome))
  }
}
