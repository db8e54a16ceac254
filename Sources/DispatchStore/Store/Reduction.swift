/// A store's `reduce(into:action:)` as one commit, with the types taken away.
@usableFromInline
final class Reduction: @unchecked Sendable {
  // because what it holds is a reducer, which holds no mutable state, and a box, which is locked
  @usableFromInline
  enum End {
    case done
    /// Nothing was done: somebody is to be told, which takes more than this.
    case observed
    /// The model was changed as far as the reducer came.
    case failed(any Error)
  }

  /// Takes the address of an action of the store's type.
  let run: (UnsafeRawPointer, ThreadState) -> End

  @usableFromInline
  init(_ run: @escaping (UnsafeRawPointer, ThreadState) -> End) {
    self.run = run
  }
}
