/// A task-local value that is read where an action is dispatched, and bound where it runs.
///
/// An operation queue does not propagate task-local values. A dispatcher binds those that it was made
/// with in blocks, hooks, inline observers and completions.
public struct CarriedTaskLocal: Sendable {
  let capture: @Sendable () -> CapturedTaskLocal

  /// Carries a task-local value, such as `CarriedTaskLocal(Request.$id)`.
  public init<Value: Sendable>(_ local: TaskLocal<Value>) {
    capture = {
      let value = local.get()
      return { body in local.withValue(value, operation: body) }
    }
  }
}

/// Runs a closure with the value bound that was read where the action was dispatched.
typealias CapturedTaskLocal = @Sendable (() -> Void) -> Void

extension [CapturedTaskLocal] {
  func bind<Result>(_ body: () -> Result) -> Result {
    guard let last else { return body() }
    var result: Result?
    dropLast().map { $0 }.bind { last { result = body() } }
    return result!
  }
}
