/// The calls of a store's reducer, with the types taken away: compiled for them where the store is made.
@usableFromInline
final class ReducerCalls: @unchecked Sendable {
  // because what they hold is a reducer, which holds no mutable state, and a box, which is locked
  @usableFromInline
  enum Answer {
    case done
    /// Nothing was done: somebody is to be told of a reduction, which takes more than this.
    case observed
    /// The model was changed as far as the reducer came.
    case failed(any Error)
  }

  /// `reduce(into:action:)` as one commit; takes the address of an action of the store's type.
  let reduce: (UnsafeRawPointer, ThreadState) -> Answer
  /// The same where somebody is to be told; takes the store too.
  let reduceObserved: (UnsafeRawPointer, AnyObject, Dispatch, ThreadState) -> InlineStep
  /// `apply(_:to:)`; takes the store too.
  let apply: (UnsafeRawPointer, AnyObject) -> Answer
  /// `operation(for:in:)` and what it answers; takes the store too.
  let answer: (UnsafeRawPointer, AnyObject, Dispatch, ThreadState) -> InlineStep

  @usableFromInline
  init(
    reduce: @escaping (UnsafeRawPointer, ThreadState) -> Answer,
    reduceObserved:
      @escaping (UnsafeRawPointer, AnyObject, Dispatch, ThreadState) -> InlineStep,
    apply: @escaping (UnsafeRawPointer, AnyObject) -> Answer,
    answer: @escaping (UnsafeRawPointer, AnyObject, Dispatch, ThreadState) -> InlineStep
  ) {
    self.reduce = reduce
    self.reduceObserved = reduceObserved
    self.apply = apply
    self.answer = answer
  }
}
