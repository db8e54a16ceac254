/// The means to undo the changes of a store's model since a moment.
///
/// Closures, which are compiled for the model's type where the store is made. All are called under the store's lock,
/// with the address of the model. After each `begin` comes one `undo` or one `end`.
@usableFromInline
class ModelUndo: @unchecked Sendable {
  // because it is constant, and the store's lock guards the copy
  @usableFromInline typealias Work = @Sendable (UnsafeMutableRawPointer) -> Void
  @usableFromInline typealias Undo = @Sendable (UnsafeMutableRawPointer) -> [any Sendable]

  /// The address at which `begin` puts a copy of the model.
  let copy: UnsafeMutableRawPointer
  /// Notes the model as it is.
  let begin: Work
  /// Makes the model what it was at `begin`.
  ///
  /// Returns what it has replaced, to be released after the lock: its deinitialisers are user code.
  let undo: Undo
  /// Forgets what the model was.
  let end: Work
  /// Frees the memory of the closures.
  private let free: @Sendable () -> Void

  @usableFromInline
  init(
    copy: UnsafeMutableRawPointer, begin: @escaping Work, undo: @escaping Undo,
    end: @escaping Work, free: @escaping @Sendable () -> Void
  ) {
    (self.copy, self.begin, self.undo, self.end, self.free) = (copy, begin, undo, end, free)
  }

  deinit { free() }

  /// Makes the means to undo changes by a copy of the model: what the changes touch is copied on write.
  @inlinable
  static func copying<Model: Sendable>(_ type: Model.Type) -> ModelUndo {
    // Guarded by the store's lock.
    nonisolated(unsafe) let copy = UnsafeMutablePointer<Model>.allocate(capacity: 1)
    return ModelUndo(
      copy: copy,
      begin: { copy.initialize(to: $0.assumingMemoryBound(to: Model.self).pointee) },
      undo: {
        let model = $0.assumingMemoryBound(to: Model.self)
        let undone = model.move()
        model.initialize(to: copy.move())
        return [undone]
      },
      end: { _ in copy.deinitialize(count: 1) },
      free: { copy.deallocate() })
  }
}
