/// What of a group in flight is a dispatch: the dispatcher counts it as under way until the group has ended, and what
/// blocks, keys, limits and deadlines do to a dispatch they do to its steps.
///
/// That is a dispatch without stores (`Dispatch.standIn`). Its steps are dispatched by it: a closed dispatcher accepts
/// them, and they are cancelled and time out with it. A compensation is dispatched by it, too, but detached.
final class GroupUnit: Sendable {
  private let dispatcher: Dispatcher
  private let callSite: CallSite
  /// Nil where the dispatcher accepts nothing any longer, and so no step either.
  private let standIn: Dispatch?
  /// In which the steps are dispatched.
  let context: TaskContext?
  /// Why the group does not begin; nil for most.
  let refusal: (any Error)?
  /// Its name in messages.
  private let name: String?

  /// - Parameters:
  ///   - options: Those of the group; in a task, once that has waited for its limits.
  ///   - caller: The context that waits for the group's end; nil where none does.
  init(
    _ options: DispatchOptions, named name: String?, by dispatcher: Dispatcher,
    at callSite: CallSite, parent: TransactionID?, inside caller: DispatchContext?,
    on thread: ThreadState
  ) {
    self.dispatcher = dispatcher
    self.callSite = callSite
    self.name = name
    standIn = Dispatch.standIn(
      parent ?? .make(on: thread), parent: nil, callSite, of: dispatcher, on: thread)
    context = standIn.map { TaskContext(ofGroup: $0, of: dispatcher, inside: caller) }
    guard let standIn else {
      refusal = nil
      return
    }
    if options.control?.isDetached != true {
      standIn.link(to: DispatchContext.linkedBlock(from: thread.run, on: thread))
    }
    do {
      try standIn.admitGroup(options, by: dispatcher, at: callSite)
      refusal = nil
    } catch {
      refusal = error
    }
  }

  /// Whether nothing more is to start but compensations.
  var isCancelled: Bool { refusal != nil || standIn?.isCancelled == true }

  /// Runs code of the program as that of the group, which passes nothing on to what it dispatches.
  func perform(_ body: () -> Void) {
    guard let standIn else { return body() }
    DispatchContext.$inTask.withValue(standIn, operation: body)
  }

  /// All steps and compensations have ended; how the group has.
  ///
  /// A dispatcher that was shut down meanwhile has refused compensations: nobody else would know.
  func result(of record: GroupRecord) -> ActionGroupResult {
    let refused = record.refusedCompensations
    if !refused.isEmpty {
      dispatcher.note(UncompensatedGroup(name: name, callSite: callSite, steps: refused))
    }
    return ActionGroupResult(record, orElse: refusal ?? standIn?.refusal)
  }

  /// The group no longer counts as under way.
  func end(_ result: ActionGroupResult) {
    guard let standIn else { return }
    standIn.end(DispatchResult(transaction: standIn.id, error: result.error))
  }
}

extension Dispatch {
  /// It stands for a group, which its options make known, limit or refuse.
  fileprivate func admitGroup(
    _ options: DispatchOptions, by dispatcher: Dispatcher, at callSite: CallSite
  ) throws {
    guard options.isControlled else { return }
    let deadline = dispatcher.deadline(options, options.control, at: callSite)
    let admission = options.control?.begin(for: dispatcher, at: callSite, until: deadline)
    if let deadline {
      guard deadline.time > dispatcher.clock.nanoseconds else {
        throw DispatchError.timedOut(callSite, after: deadline.duration)
      }
      makeDetails().put(TimeLimit(until: deadline, of: dispatcher, endsEarly: false))
    }
    _ = try admission?.admit(self, nil, to: dispatcher)
    let older = admission?.announce(self, of: dispatcher) ?? []
    admission?.entered(self, of: dispatcher)
    for older in older { older.cancel() }
    makeDetails().startTimer(for: self)
  }
}
