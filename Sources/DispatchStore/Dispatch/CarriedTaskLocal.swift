/// A task-local value that follows an action from where it is dispatched to where it runs.
///
/// Task-local values do not cross into an operation queue of themselves. A dispatcher carries those
/// that it was made with: into blocks, hooks, inline observers and completions.
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

/// Runs a closure with the values bound that were found where the action was dispatched.
typealias CapturedTaskLocal = @Sendable (() -> Void) -> Void

extension [CapturedTaskLocal] {
  func bind<Result>(_ body: () -> Result) -> Result {
    guard let last else { return body() }
    var result: Result?
    dropLast().map { $0 }.bind { last { result = body() } }
    return result!
  }
}
