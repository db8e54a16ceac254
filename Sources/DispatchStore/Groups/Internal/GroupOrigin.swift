/// Where a group was dispatched: what its later steps have as parent and as carried task-local values.
final class GroupOrigin: Sendable {
  private let context: DispatchContext?
  private let carried: Carried

  private struct Carried: @unchecked Sendable {
    // because these values are not changed: no dispatch attaches anything to them
    let values: CapturedTaskLocal?
  }

  /// - Parameter callSite: That of the group.
  init(in dispatcher: Dispatcher, on thread: ThreadState, at callSite: CallSite) {
    context = DispatchContext.currentTransaction(on: thread).map { parent in
      // Only its identity: the dispatch around may end, and be used again, before the group does.
      let stand = Dispatch()
      stand.begin(parent, parent: nil, to: nil, nil, callSite)
      return stand
    }
    carried = Carried(values: dispatcher.carriesTaskLocals ? dispatcher.captureTaskLocals() : nil)
  }

  /// Runs code as if where the group was dispatched; nothing waits for it.
  func perform<Result>(_ body: () -> Result) -> Result {
    func inContext() -> Result {
      guard let context else { return body() }
      return DispatchContext.$inTask.withValue(context, operation: body)
    }
    guard let values = carried.values else { return inContext() }
    return values.bind(inContext)
  }
}
