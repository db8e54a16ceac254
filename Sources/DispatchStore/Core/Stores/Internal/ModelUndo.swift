/// The means to undo the changes of a store's model since a moment.
///
/// Closures, which are compiled for the model's type where the store is made. All are called under the store's lock,
/// with the address of the model. After each `begin` comes one `undo` or one `end`.
@usableFromInline
final class ModelUndo: Sendable {
  @usableFromInline typealias Work = @Sendable (UnsafeMutableRawPointer) -> Void

  /// Notes the model as it is.
  let begin: Work
  /// Makes the model what it was at `begin`.
  let undo: Work
  /// Forgets what the model was.
  let end: Work
  /// Frees the memory of the closures.
  private let free: @Sendable () -> Void
  /// The parts of the model that are undone in place; the rest is copied.
  @usableFromInline let parts: [PartUndo]

  @usableFromInline
  init(
    parts: [PartUndo], begin: @escaping Work, undo: @escaping Work, end: @escaping Work,
    free: @escaping @Sendable () -> Void
  ) {
    (self.parts, self.begin, self.undo, self.end, self.free) = (parts, begin, undo, end, free)
  }

  deinit { free() }

  /// Makes the means to undo changes by a copy of the model: what the changes touch is copied on write.
  ///
  /// - Parameter parts: The parts that are undone in place: the copy is without them.
  @inlinable
  static func copying<Model: Sendable>(
    _ type: Model.Type, besides parts: [PartUndo] = []
  ) -> ModelUndo {
    // Guarded by the store's lock.
    nonisolated(unsafe) let copy = UnsafeMutablePointer<Model>.allocate(capacity: 1)
    return ModelUndo(
      parts: parts,
      begin: { model in
        copy.initialize(to: model.assumingMemoryBound(to: Model.self).pointee)
        for part in parts { part.begin(model, copy) }
      },
      undo: { model in
        for part in parts { part.undo(model, copy) }
        model.assumingMemoryBound(to: Model.self).pointee = copy.move()
      },
      end: { model in
        copy.deinitialize(count: 1)
        for part in parts { part.end(model) }
      },
      free: { copy.deallocate() })
  }
}

/// The means to undo the changes of a part of a model in place.
@usableFromInline
final class PartUndo: Sendable {
  /// The part.
  let path: any AnyKeyPath & Sendable
  /// Empties the part of a copy of the model, so that the model has the only reference to its storage again, and begins
  /// to record changes.
  ///
  /// Takes the address of the copy as well, as `undo` does.
  @usableFromInline let begin: Work
  /// Undoes the changes since `begin`, and moves the part to the copy.
  @usableFromInline let undo: Work
  /// Ends recording.
  @usableFromInline let end: ModelUndo.Work
  /// Makes a tracker of what commits change in the part.
  let track: @Sendable () -> any PartTracker

  @usableFromInline
  typealias Work = @Sendable (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Void

  @usableFromInline
  init(
    _ path: any AnyKeyPath & Sendable, begin: @escaping Work, undo: @escaping Work,
    end: @escaping ModelUndo.Work, track: @escaping @Sendable () -> any PartTracker
  ) {
    (self.path, self.begin, self.undo, self.end) = (path, begin, undo, end)
    self.track = track
  }
}
