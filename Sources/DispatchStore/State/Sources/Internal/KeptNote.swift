/// A kept value with its type.
@usableFromInline
final class TypedValue<Value: Sendable>: @unchecked Sendable {
  // because only its maker, or the follower that has taken it back, changes the value
  @exclusivity(unchecked) @usableFromInline var value: Value

  @inlinable
  init(_ value: Value) {
    self.value = value
  }

  /// Returns the value of a source of this type.
  @inlinable
  static func of(_ kept: KeptValue?) -> Value { cast(kept).value }

  /// Casts a value without a check, because a checked cast would cost more than the rest.
  @inlinable
  static func cast(_ kept: KeptValue?) -> TypedValue {
    unsafeDowncast(kept.unsafelyUnwrapped, to: TypedValue.self)
  }
}

/// A change that a follower keeps until it is delivered: its commit, and the value that was read.
@usableFromInline
class KeptNote: @unchecked Sendable {
  // because it is constant
  @usableFromInline final let value: KeptValue?
  @usableFromInline final let version: UInt64
  @usableFromInline final let dispatchID: DispatchID?
  /// Whether this is the state with which a subscription begins.
  @usableFromInline final let isInitial: Bool

  @usableFromInline
  init(_ value: KeptValue?, version: UInt64, dispatchID: DispatchID?, isInitial: Bool) {
    self.value = value
    self.version = version
    self.dispatchID = dispatchID
    self.isInitial = isInitial
  }

  /// Returns the note with another value.
  func with(_ value: KeptValue) -> KeptNote { fatalError("KeptNote is abstract.") }

  /// Returns the note as that of the state with which a subscription begins.
  func asPresent() -> KeptNote { fatalError("KeptNote is abstract.") }
}

/// A note with the store's action.
@usableFromInline
final class TypedNote<Action: ActionType>: KeptNote, @unchecked Sendable {
  // because its superclass is, and it is constant, too
  @usableFromInline let action: Action?

  @usableFromInline
  init(
    _ value: KeptValue?, version: UInt64, action: Action?, dispatchID: DispatchID?,
    isInitial: Bool
  ) {
    self.action = action
    super.init(value, version: version, dispatchID: dispatchID, isInitial: isInitial)
  }

  /// Notes a commit of a store with this type of actions.
  @inlinable
  static func note(_ commit: CommitInProgress, _ value: KeptValue?) -> KeptNote {
    TypedNote(
      value, version: commit.version,
      action: commit.isPresentModel
        ? nil : commit.action.assumingMemoryBound(to: Action?.self).pointee,
      dispatchID: commit.dispatchID, isInitial: commit.isPresentModel)
  }

  override func with(_ value: KeptValue) -> KeptNote {
    TypedNote(
      value, version: version, action: action, dispatchID: dispatchID, isInitial: isInitial)
  }

  override func asPresent() -> KeptNote {
    isInitial
      ? self : TypedNote(value, version: version, action: nil, dispatchID: nil, isInitial: true)
  }

  @inlinable
  static func change<Value>(
    _ note: KeptNote, _ content: ChangeContent<Value>
  ) -> Change<Value, Action> {
    Change(
      content, version: note.version, action: unsafeDowncast(note, to: TypedNote.self).action,
      dispatchID: note.dispatchID, isInitial: note.isInitial)
  }
}
