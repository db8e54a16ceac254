/// The place from which a group was dispatched: its later steps get their parent and task-local values from here.
final class GroupOrigin: Sendable {
  let parent: DispatchID?
  let callSite: CallSite
  private let carried: Carried

  private struct Carried: @unchecked Sendable {
    // because these values are not changed: no dispatch attaches anything to them
    let values: CapturedTaskLocal?
  }

  /// - Parameter callSite: The group's call site.
  init(in dispatcher: Dispatcher, on thread: ThreadState, at callSite: CallSite) {
    parent = DispatchContext.currentTransaction(on: thread)
    self.callSite = callSite
    carried = Carried(values: dispatcher.carriesTaskLocals ? dispatcher.captureTaskLocals() : nil)
  }

  /// Runs code in a context, with the carried values; nothing waits for it.
  func perform<Result>(in context: DispatchContext?, _ body: () -> Result) -> Result {
    func inContext() -> Result {
      guard let context else { return body() }
      return DispatchContext.$inTask.withValue(context, operation: body)
    }
    guard let values = carried.values else { return inContext() }
    return values.bind(inContext)
  }
}
