import Foundation

/// The means to save and to load companion rows; a dispatcher without persistence has none.
struct CompanionKeeper: Sendable {
  let decode: @Sendable (DecodableType, Data) throws -> any Sendable
  /// Whether a value has all properties of a saved one, with equal values.
  let hasAll: @Sendable (any Encodable, Data) -> Bool
  /// Decodes an action by its name.
  let decodeAction: @Sendable (SavedAction) throws -> any ActionType
  /// The name under which actions of a type are saved; nil if that is the type's Swift name.
  let name: @Sendable (any ActionType.Type) -> String?
  /// The type that has a name, or had it formerly; nil if the name is not known.
  let actionType: @Sendable (_ name: String) -> (any ActionType.Type)?
  /// Why actions of a type can't be saved; nil if they can.
  let obstacle: @Sendable (any ActionType.Type) -> String?
  /// Saves rows as a commit of their own.
  let save: @Sendable ([CompanionRow]) -> Void
  /// Saves rows with the next commit.
  let saveWithNext: @Sendable ([CompanionRow]) -> Void
  /// Calls back once everything is saved that was committed before; false if that has failed.
  let whenSaved: @Sendable (@escaping @Sendable (Bool) -> Void) -> Void
  /// Calls back with whether this process owns the database; waits for its answer if the lease may be over.
  let whenOwner: @Sendable (@escaping @Sendable (Bool) -> Void) -> Void
  /// Whether nothing is saved any longer.
  let hasFailed: @Sendable () -> Bool

  typealias DecodableType = any (Decodable & Sendable).Type

  /// Waits until everything is saved that was committed before; returns false if that has failed.
  func saved() async -> Bool {
    await withUnsafeContinuation { continuation in
      whenSaved { continuation.resume(returning: $0) }
    }
  }

  /// Whether this process owns the database; waits for its answer if the lease may be over.
  func isOwner() async -> Bool {
    await withUnsafeContinuation { continuation in
      whenOwner { continuation.resume(returning: $0) }
    }
  }
}

extension CompanionEncoder {
  /// Encodes a value of the user's, described for messages.
  ///
  /// If encoding fails, the row is saved with a value that can't be decoded, because the commit has been made already.
  func save(_ value: any Encodable, _ description: @autoclosure () -> String) -> SavedValue {
    do {
      return SavedValue(data: try encode(value))
    } catch {
      report(description(), error)
      return SavedValue(data: Data())
    }
  }

  /// Encodes an action with its name.
  func save(
    _ action: any ActionType, of owner: @autoclosure () -> String
  ) -> SavedAction {
    let name = name(type(of: action)) ?? TypeName.of(type(of: action))
    guard let action = action as? any Encodable else {
      return SavedAction(name: name, value: SavedValue(data: Data()))
    }
    return SavedAction(name: name, value: save(action, "the action \(name) of \(owner())"))
  }
}
