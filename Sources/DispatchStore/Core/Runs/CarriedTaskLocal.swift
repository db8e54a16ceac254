/// A task-local value that is read when an action is dispatched, and bound when it runs.
///
/// An operation queue does not propagate task-local values. A dispatcher binds the values that it was created with in
/// blocks, hooks, inline observers and completions.
public struct CarriedTaskLocal: Sendable {
  /// Reads the value that is bound in the current context.
  let capture: @Sendable (_ next: CapturedTaskLocal?) -> CapturedTaskLocal

  /// Carries a task-local value, such as `CarriedTaskLocal(Request.$id)`.
  public init<Value: Sendable>(_ local: TaskLocal<Value>) {
    capture = { CapturedValue(local, local.get(), before: $0) }
  }
}
