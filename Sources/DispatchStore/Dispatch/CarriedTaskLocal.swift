/// A task-local value that is read where an action is dispatched, and bound where it runs.
///
/// An operation queue does not propagate task-local values. A dispatcher binds those that it was made
/// with in blocks, hooks, inline observers and completions.
public struct CarriedTaskLocal: Sendable {
  let capture: @Sendable () -> CapturedTaskLocal.Binding

  /// Carries a task-local value, such as `CarriedTaskLocal(Request.$id)`.
  @inlinable
  public init<Value: Sendable>(_ local: TaskLocal<Value>) {
    self.init {
      let value = local.get()
      return { body in local.withValue(value, operation: body) }
    }
  }

  @usableFromInline
  init(capture: @escaping @Sendable () -> CapturedTaskLocal.Binding) {
    self.capture = capture
  }
}

/// A task-local value as it was where an action was dispatched; those of other keys are linked.
@usableFromInline
final class CapturedTaskLocal: @unchecked Sendable {
  // because `attachment` belongs to the step that runs
  /// Runs a closure with the value bound.
  @usableFromInline
  typealias Binding = @Sendable (() -> Void) -> Void

  private let binding: Binding
  private let next: CapturedTaskLocal?
  /// What else the dispatch has that carries the value.
  @exclusivity(unchecked) var attachment = Dispatch.Attachment.none

  init(_ binding: @escaping Binding, before next: CapturedTaskLocal?) {
    self.binding = binding
    self.next = next
  }

  /// The same values for another dispatch.
  func copy() -> CapturedTaskLocal { CapturedTaskLocal(binding, before: next) }

  func bind<Result>(_ body: () -> Result) -> Result {
    var result: Result?
    binding { result = next?.bind(body) ?? body() }
    return result.unsafelyUnwrapped
  }
}
