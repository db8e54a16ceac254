/// The reason why the dispatcher itself ended a dispatch or a store run.
///
/// An error that a store's operation throws is not wrapped in it.
public struct DispatchError: Error, Sendable {
  /// The kind of error.
  public let code: Code
  /// The stores or dispatches concerned, what happened to them, and what to do about it.
  public internal(set) var message: String
  /// The stores that the message names, in the message's order.
  public internal(set) var storeIdentifiers: [String] = []
  /// The call sites of the dispatches that the message names.
  public internal(set) var callSites: [CallSite] = []
  /// The error that caused it.
  public internal(set) var cause: (any Error)?
  /// For `timedOut`, the time that the dispatch had.
  ///
  /// Zero if it had none.
  public internal(set) var timeLimit: Duration?
  /// For `rateLimitExceeded` and `circuitOpen`, the time after which to try again.
  public internal(set) var retryAfter: Duration?
  /// Whether all stores had ended, and only saving was left, so that a crash could undo what they have replied.
  var isAfterCommit = false
}

extension DispatchError {
  static func dependencyFailed(
    _ identifier: String, after prerequisite: String, _ outcome: StoreOutcome
  ) -> DispatchError {
    DispatchError(
      code: .dependencyFailed,
      message: """
        Store "\(identifier)" was not run: it waits for store "\(prerequisite)", which did not \
        finish (\(outcome)).
        """,
      storeIdentifiers: [identifier, prerequisite], cause: outcome.error)
  }
}

extension DispatchError {
  /// - Parameter cause: The other store's error; the message does not describe it, which would take long.
  static func undone(
    _ identifier: String, by other: String, _ cause: (any Error)?
  ) -> DispatchError {
    DispatchError(
      code: .undone,
      message:
        "Store \"\(identifier)\" is as it was before the atomic action, because store \"\(other)\" did not finish.",
      storeIdentifiers: [identifier, other], cause: cause)
  }

  static func notAtomic(
    _ identifier: String, _ actionType: any ActionType.Type
  ) -> DispatchError {
    DispatchError(
      code: .notAtomic,
      message: """
        Store "\(identifier)" can't take part in an atomic action: it answers \(actionType) by an \
        operation or by apply(_:to:), which can't be undone. Answer it by reduce(into:action:) or On, or \
        dispatch it without .atomic.
        """,
      storeIdentifiers: [identifier])
  }
}

extension DispatchError: CustomStringConvertible {
  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}

extension DispatchError {
  /// Kinds of errors.
  ///
  /// Later versions may add more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code's name.
    public let description: String

    /// A wait would never end: a deadlock.
    ///
    /// The message names the dispatches of the cycle in order, each with its call site and the place where it runs.
    /// The call sites begin with the dispatch that waits.
    ///
    /// The check knows waits for lanes and their holders, `.sync` callers, sequences, hooks, handles in `after`,
    /// exclusion keys, and units of limits. It also knows the dependencies of operations that reducers have returned. It costs a few
    /// microseconds, however long a lane is. The cost grows with the number of waits that the awaited dispatch
    /// depends on.
    ///
    /// The library doesn't refuse cycles that it can't see. These pass through:
    ///
    /// - The program's own semaphores, conditions and continuations.
    /// - An unstructured task (`Task { … }`, `Task.detached`) that awaits a dispatch on a lane whose holder awaits
    ///   the task. Use a child task (`async let`, a task group), or await the dispatch in the block.
    /// - A `.sync` dispatch in an immediate task (`Task.immediate`). This concerns a task that was made by the block of
    ///   a dispatch made with `send`.
    /// - An operation that no reducer has returned yet. The same goes for a dependency that is added after its
    ///   operation was returned.
    /// - The block of an operation in the program's own queue.
    /// - An operation of the program on which the dispatch depends, if the code that waits has its place: the main
    ///   thread that of `OperationQueue.main`, another operation of the program the last one of their queue.
    /// - The block of a group's step whose time is over, or that was cancelled, while the group waits to undo it
    ///   (`ifOnlyBegun`). Give what such a block waits for a time limit.
    /// - A closure that makes a step's action, or `onProgress`, of a group that was dispatched, if it blocks the thread
    ///   that continues the group. Don't wait there. The completion may wait.
    /// - A handler that is isolated to the main actor, of a dispatch in another mode than `.mainThread`, for which the
    ///   main queue waits. Dispatch it with `.mainThread`, or don't wait on the main queue.
    /// - A unit of a limit, if the next dispatch that gets it then waits itself: in a lane, for a key, or by its `after`.
    /// - A unit that a call has which waits for a unit of another limit, and so is no dispatch yet.
    /// - `settled()`, awaited in an effect of that dispatch.
    ///
    /// The error also refuses a `.sync` dispatch, or a wait, that would block a thread of the cooperative pool. It
    /// does so if that thread would wait for a dispatch that runs in a task, or for its own turn. Such waits could
    /// block all threads of the pool.
    ///
    /// A dispatch made in an exclusive section is enqueued in its lane at the end of the section. It ends with this
    /// error if it would wait for a dispatch, or be behind one, that waits for it by then. The other dispatch
    /// continues.
    public static let wouldDeadlock = Code(description: "wouldDeadlock")
    /// Stores wait for each other in a cycle.
    ///
    /// The message names the whole path.
    public static let waitForCycle = Code(description: "waitForCycle")
    /// No store has the identifier that an action was dispatched to, or that another store waits for.
    public static let unknownStore = Code(description: "unknownStore")
    /// A prerequisite of the store did not finish.
    public static let dependencyFailed = Code(description: "dependencyFailed")
    /// A middleware vetoed the action.
    public static let vetoed = Code(description: "vetoed")
    /// A middleware threw, or replaced an action with one of another type.
    public static let middlewareFailed = Code(description: "middlewareFailed")
    /// The program released an operation without finishing it.
    public static let operationAbandoned = Code(description: "operationAbandoned")
    /// A reducer returned an operation that can't run, because it was started, or was made for another action or
    /// store.
    public static let invalidOperation = Code(description: "invalidOperation")
    /// A reducer overrides none of `operation(for:in:)`, `apply(_:to:)` and `reduce(into:action:)`.
    public static let reducerMissing = Code(description: "reducerMissing")
    /// The time limit of the dispatch, or one that it inherited, passed before it ended.
    public static let timedOut = Code(description: "timedOut")
    /// The dispatch was not started, because of another one with the same key.
    ///
    /// The other one was in flight, came later, or had begun too short a time before. The call sites are those of
    /// both.
    public static let skipped = Code(description: "skipped")
    /// An effect sent the action after the effect's run had ended.
    public static let effectEnded = Code(description: "effectEnded")
    /// `ReplyResult.reply` was read, and no store replied.
    public static let noReply = Code(description: "noReply")
    /// `ReplyResult.reply` was read, and several stores replied.
    public static let severalReplies = Code(description: "severalReplies")
    /// The limit's number of dispatches were in flight, and the limit rejects further ones.
    public static let limitExceeded = Code(description: "limitExceeded")
    /// More dispatches came than a rate limit lets begin in its period, and the rate limit rejects further ones.
    ///
    /// `retryAfter` is the time after which one may begin.
    public static let rateLimitExceeded = Code(description: "rateLimitExceeded")
    /// A circuit breaker is open, or is half-open and has as many trials in flight as it allows.
    ///
    /// `retryAfter` is the time after which to try again.
    public static let circuitOpen = Code(description: "circuitOpen")
    /// The idempotency key was used for another action before.
    public static let idempotencyKeyReused = Code(description: "idempotencyKeyReused")
    /// The idempotency key is empty, or can't be saved: its text has U+0000 or is too long.
    public static let invalidIdempotencyKey = Code(description: "invalidIdempotencyKey")
    /// The idempotency key can't be saved with the action's reply, whose type is not `Codable`.
    public static let replyNotEncodable = Code(description: "replyNotEncodable")
    /// The recorded reply of an idempotency key can't be decoded.
    ///
    /// The cause is the decoder's error.
    public static let replyNotDecodable = Code(description: "replyNotDecodable")
    /// The action of the idempotency key has failed before, in an earlier process; the message has the error's text.
    public static let failedBefore = Code(description: "failedBefore")
    /// A limit was exceeded, and this dispatch was dropped.
    public static let dropped = Code(description: "dropped")
    /// The commits of the dispatch were not saved, or it is not known whether they were.
    ///
    /// The cause is a `PersistenceError`, which says why, and whether the outcome is known. Once saving has failed,
    /// persistent stores run no further action, and the program is expected to end.
    public static let persistenceFailed = Code(description: "persistenceFailed")
    /// The dispatcher was closed before the dispatch was made, which never runs.
    ///
    /// Work under way gets it, too, for a schedule that can't be saved for the next process.
    public static let dispatcherClosed = Code(description: "dispatcherClosed")
    /// The saved schedule is left to the next process, and has not run in this one.
    ///
    /// The dispatcher was closed before its time, or the process could no longer save when its time came. If saving had
    /// failed before the schedule was saved, no process runs it.
    public static let leftToAnotherProcess = Code(description: "leftToAnotherProcess")
    /// The dispatcher was paused by `DispatchRecorder.travel(to:)`, and was not resumed before the dispatch was made.
    public static let dispatcherPaused = Code(description: "dispatcherPaused")
    /// A store can't take part in an atomic action, because it does not answer by a reduction.
    public static let notAtomic = Code(description: "notAtomic")
    /// The store's part in an atomic action was undone or not begun, because another store did not finish.
    ///
    /// The cause is the other store's error, which is also the error of the result.
    public static let undone = Code(description: "undone")
    /// `dispatch` was called on a store that is not registered with a dispatcher.
    public static let notRegistered = Code(description: "notRegistered")
  }
}
