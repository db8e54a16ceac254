/// The call that dispatched a group, until that has ended: a handle of the group may live longer.
///
/// The later steps get their parent and task-local values from here.
final class GroupCall: Sendable {
  let dispatcher: Dispatcher
  let options: DispatchOptions
  let callSite: CallSite
  let completion: (@Sendable (ActionGroupResult) -> Void)?
  let parent: DispatchID?
  private let carried: CapturedTaskLocal?

  init(
    of dispatcher: Dispatcher, _ options: DispatchOptions, at callSite: CallSite,
    on thread: ThreadState, then completion: (@Sendable (ActionGroupResult) -> Void)?
  ) {
    (self.dispatcher, self.options, self.callSite) = (dispatcher, options, callSite)
    self.completion = completion
    parent = DispatchContext.currentTransaction(on: thread)
    carried = dispatcher.carriesTaskLocals ? dispatcher.captureTaskLocals() : nil
  }

  /// Runs code in a context, with the carried values; nothing waits for it.
  func perform<Result>(in context: DispatchContext?, _ body: () -> Result) -> Result {
    func inContext() -> Result {
      guard let context else { return body() }
      return DispatchContext.$inTask.withValue(context, operation: body)
    }
    guard let carried else { return inContext() }
    return carried.bind(inContext)
  }
}
