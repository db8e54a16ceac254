/// Admission control of a dispatch: whether it may begin, and who gets to know it.
///
/// Features that control dispatches subclass it.
@usableFromInline
class DispatchAdmission: @unchecked Sendable {
  // because a subclass has only constants
  /// Returns the control of a dispatch that has other options, too.
  func adding(_ others: ArraySlice<DispatchOptions>) -> DispatchAdmission { self }

  /// Returns the control of a dispatch of several actions.
  func ofList(_ actions: [any ActionType]) -> DispatchAdmission { self }

  /// Whether it inherits neither cancellation nor deadline from the block that dispatches it.
  var isDetached: Bool { false }

  /// Whether all stores of the dispatch change, or none.
  var isAtomic: Bool { false }

  /// Returns the deadline of a dispatch made now, apart from its options.
  func deadline(by clock: DispatcherClock, at callSite: CallSite) -> Deadline? { nil }

  /// Whether its result may come at its deadline, before the end of its stores.
  var mayEndEarly: Bool { true }

  /// Whether the dispatcher's default time limit applies.
  var takesDefaultTimeLimit: Bool { true }

  /// Returns the priority on the concurrent queue, or for a turn in a lane; nil for the normal one.
  func priority(in mode: Dispatcher.Mode, of dispatcher: Dispatcher) -> PriorityInbox.Level? { nil }

  /// Whether the end does not wait until its commits are saved.
  var endsUnsaved: Bool { false }

  /// Whether a gate may reject it instead of holding it back; false if that would leave work half done.
  var mayBeRejected: Bool { true }

  /// The rule by which failed stores are retried.
  var retryRule: (any RetryRule)? { nil }

  /// Returns the gate that a dispatch has to pass in its turn, before it starts; nil for most.
  ///
  /// Called on the dispatching thread, before hooks and scheduling.
  func gate(for dispatcher: Dispatcher) -> StartGate? { nil }

  /// Returns the admission control of one dispatch, usually itself.
  ///
  /// May block the thread until a unit of a limit is free.
  ///
  /// Called on the dispatching thread, before hooks and scheduling.
  ///
  /// - Parameter deadline: The dispatch's own deadline, or a sooner one that it inherits. The thread is blocked until
  ///   then at most.
  func begin(
    for dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> DispatchAdmission { self }

  /// Acquires the resources of a dispatch sent from a task, before it begins; nil if it needs none.
  ///
  /// - Returns: The admission control with which it begins.
  func send(
    to dispatcher: Dispatcher, at callSite: CallSite, until deadline: Deadline?
  ) -> DispatchAdmission? { nil }

  /// Whether a sent dispatch begins only once this has waited.
  var mustWait: Bool { false }

  /// Waits in a sending task, before its dispatch begins.
  ///
  /// Returns also if the task was cancelled, or its time has passed.
  nonisolated(nonsending) func waitUntilReady(
    for dispatcher: Dispatcher, at callSite: CallSite
  ) async {}

  /// Whether `begin` and `send` have no more to do: it has its units of limits, or an earlier answer.
  var isReady: Bool { false }

  /// Gives back what `begin` and `send` have acquired, unless a dispatch has got it: that is refused for another reason.
  ///
  /// Called before the completion of a dispatch that `admit` was not asked about.
  func giveBack() {}

  /// Whether `admit` shares a dispatch with others, which may wait for it or end it before it begins.
  var makesKnown: Bool { false }

  /// Decides whether a dispatch begins.
  ///
  /// Throws the reason if not.
  ///
  /// Called on the dispatching thread, before hooks and scheduling, while no other thread knows the dispatch.
  ///
  /// - Parameter mode: The mode of a dispatch that may begin later; nil if it ends at once with an error of the
  ///   dispatcher's.
  func admit(
    _ dispatch: Dispatch, laterIn mode: Dispatcher.Mode?, to dispatcher: Dispatcher
  ) throws -> Admission { .begins }

  /// Whether others can get a handle of the dispatch, or wait for it, once it is announced.
  var isFindable: Bool { false }

  /// Whether others than its handle, its task and a deadline may cancel the dispatch once it is announced.
  var isCancellable: Bool { false }

  /// Makes the dispatch known to others before its stores can begin.
  ///
  /// They may cancel it from here on.
  ///
  /// - Returns: The dispatches to cancel once the scheduler has this one.
  func announce(_ dispatch: Dispatch, of dispatcher: Dispatcher) -> [Dispatch] { [] }

  /// Called when the scheduler has the dispatch, or when the caller's thread or task is about to run it.
  ///
  /// The dispatch may have ended.
  func entered(_ dispatch: Dispatch, of dispatcher: Dispatcher) {}
}

/// The decision about a dispatch that is not refused.
enum Admission {
  /// The dispatch begins now.
  case begins
  /// The dispatch begins later.
  case waits(any DelayedStart)
  /// The dispatch runs nothing, and ends as the other one does.
  case joins(Dispatch)
}

/// The reason why a dispatch doesn't begin: it has the result of an earlier one.
struct RecordedResult: Error {
  let result: DispatchResult
}

/// Admission control for all dispatches of a dispatcher, besides their own options.
package class DefaultAdmission: @unchecked Sendable {
  // because a subclass has only constants
  /// Whether it controls dispatches in `.sync`, too.
  var controlsSync: Bool { false }

  /// The time limit in nanoseconds of a dispatch that says nothing about its own; `Int64.max` for none.
  var timeLimit: Int64 { .max }

  /// Returns the admission control of a dispatch with its own one; without a mode, that of a group.
  func admission(in mode: Dispatcher.Mode?, with own: DispatchAdmission?) -> DispatchAdmission? {
    own
  }
}
