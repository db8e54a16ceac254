import Foundation

/// The means to save and to load companion rows; a dispatcher without persistence has none.
struct CompanionKeeper: Sendable {
  let decode: @Sendable (DecodableType, Data) throws -> any Sendable
  /// Decodes an action by its name.
  let decodeAction: @Sendable (SavedAction) throws -> any ActionType
  /// The name under which actions of a type are saved; nil if the type is not known.
  let name: @Sendable (any ActionType.Type) -> String?
  /// Why actions of a type can't be saved; nil if they can.
  let obstacle: @Sendable (any ActionType.Type) -> String?
  /// Saves rows as a commit of their own.
  let save: @Sendable ([CompanionRow]) -> Void
  /// Saves rows with the next commit.
  let saveWithNext: @Sendable ([CompanionRow]) -> Void
  /// Calls back once everything is saved that was committed before; false if that has failed.
  let whenSaved: @Sendable (@escaping @Sendable (Bool) -> Void) -> Void

  typealias DecodableType = any (Decodable & Sendable).Type

  /// Waits until everything is saved that was committed before; returns false if that has failed.
  func saved() async -> Bool {
    await withUnsafeContinuation { continuation in
      whenSaved { continuation.resume(returning: $0) }
    }
  }
}

/// The means to encode the values of companion rows.
struct CompanionEncoder {
  let encode: (any Encodable) throws -> Data
  /// Encodes an action with its name.
  let encodeAction: (any ActionType) throws -> SavedAction
}
