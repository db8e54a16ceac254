/// The means to undo the changes of a store's model since a moment, without its types.
///
/// All methods are called under the store's lock, with the address of the model. After each `begin` comes one `undo`
/// or one `end`.
class ModelUndo: @unchecked Sendable {
  // because the store's lock guards all mutable state
  /// Notes the model as it is.
  func begin(_ model: UnsafeMutableRawPointer) { fatalError("ModelUndo is abstract.") }

  /// Makes the model what it was at `begin`.
  func undo(_ model: UnsafeMutableRawPointer) { fatalError("ModelUndo is abstract.") }

  /// Forgets what the model was.
  func end(_ model: UnsafeMutableRawPointer) { fatalError("ModelUndo is abstract.") }
}

/// Undoes changes by a copy of the model: what the changes touch is copied on write.
final class CopyUndo<Model: Sendable>: ModelUndo, @unchecked Sendable {
  // because its superclass is
  private var copy: Model?

  override func begin(_ model: UnsafeMutableRawPointer) {
    copy = model.assumingMemoryBound(to: Model.self).pointee
  }

  override func undo(_ model: UnsafeMutableRawPointer) {
    if let copy = copy.take() { model.assumingMemoryBound(to: Model.self).pointee = copy }
  }

  override func end(_ model: UnsafeMutableRawPointer) { copy = nil }
}

/// A store's means to undo changes, made when an atomic action first needs it.
private final class UndoAttachment: StoreAttachment, @unchecked Sendable {
  // because its superclass is
  var undo: ModelUndo

  init(_ undo: ModelUndo) {
    self.undo = undo
  }
}

extension StoreStorage {
  /// The means to undo changes of the model; called under the lock.
  final var undo: ModelUndo {
    get {
      if let present = attachment(UndoAttachment.self) {
        return present._withUnsafeGuaranteedRef(\.undo)
      }
      return attachment(orAdd: UndoAttachment(makeUndo())).undo
    }
    set { attachment(orAdd: UndoAttachment(newValue)).undo = newValue }
  }
}
