/// Why the dispatcher itself ended a dispatch or a store run.
///
/// An error that a store's operation throws is not wrapped in it.
public struct DispatchError: Error, Sendable {
  /// What happened.
  public let code: Code
  /// What happened, the stores or dispatches concerned, and what to do about it.
  public let message: String
  /// The stores that the message names, in its order.
  public let storeIdentifiers: [String]
  /// The call sites of the dispatches that the message names.
  public let callSites: [CallSite]
  /// The error that caused it.
  public let cause: (any Error)?
  /// Of `timedOut`: the time that the dispatch had; zero where it had none.
  public let timeLimit: Duration?

  init(
    code: Code, message: String, storeIdentifiers: [String] = [], callSites: [CallSite] = [],
    cause: (any Error)? = nil, timeLimit: Duration? = nil
  ) {
    self.code = code
    self.message = message
    self.storeIdentifiers = storeIdentifiers
    self.callSites = callSites
    self.cause = cause
    self.timeLimit = timeLimit
  }
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

extension DispatchError: CustomStringConvertible {
  /// The code and the message.
  public var description: String { "\(code): \(message)" }
}

extension DispatchError {
  /// Kinds of errors; later versions may add more.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The code's name.
    public let description: String

    /// A wait would never end; the message names the dispatches of the ring in its order, each with its
    /// call site and where it runs.
    ///
    /// What counts is who waits for whom: through lanes and those that hold them, `.sync` callers, sequences,
    /// hooks, handles in `after`, exclusion keys, and dependencies of operations that reducers have returned. The call
    /// sites begin with the dispatch that waits. The check costs a few microseconds, however long a lane is; it
    /// grows with the number of waits on which what is waited for depends.
    ///
    /// Not refused, since the library can't see it, is a ring that passes through
    /// - the program's own semaphores, conditions and continuations;
    /// - an unstructured task (`Task { … }`, `Task.detached`) that awaits a dispatch on the lane which a block
    ///   holds, while the block awaits the task: use a child task (`async let`, a task group), or await the
    ///   dispatch in the block;
    /// - a `.sync` dispatch in an immediate task (`Task.immediate`) that the block of a dispatch made which was sent;
    /// - an operation that no reducer has returned yet, the block of an operation in the program's own queue,
    ///   or a dependency that is added after the operation was returned.
    ///
    /// Also a `.sync` dispatch, or a wait, that would block one of the system's threads for tasks until a dispatch has
    /// ended that runs in a task, or until its own time has come: threads blocked so could be all that there are.
    ///
    /// A dispatch made in an exclusive section comes to its lane when that is left. Where it would be behind one
    /// that waits for it by then, or is to wait for such a one, it ends with this error, and the other goes on.
    public static let wouldDeadlock = Code(description: "wouldDeadlock")
    /// Stores wait for each other in a cycle; the message names the whole path.
    public static let waitForCycle = Code(description: "waitForCycle")
    /// An action was dispatched to an identifier under which no store is registered, or a store waits for
    /// one under which none has been.
    public static let unknownStore = Code(description: "unknownStore")
    /// A prerequisite of the store did not finish.
    public static let dependencyFailed = Code(description: "dependencyFailed")
    /// A middleware vetoed the action.
    public static let vetoed = Code(description: "vetoed")
    /// A middleware threw, or replaced an action with one of another type.
    public static let middlewareFailed = Code(description: "middlewareFailed")
    /// The program released an operation without finishing it.
    public static let operationAbandoned = Code(description: "operationAbandoned")
    /// A reducer returned an operation that can't run: started, or made for another action or store.
    public static let invalidOperation = Code(description: "invalidOperation")
    /// A reducer overrides none of `operation(for:in:)`, `apply(_:to:)` and `reduce(into:action:)`.
    public static let reducerMissing = Code(description: "reducerMissing")
    /// The dispatch had not ended when its time limit, or one that it inherited, had passed.
    public static let timedOut = Code(description: "timedOut")
    /// The dispatch did not begin, because one with the same key was in flight, came later, or had begun too short a time
    /// before; the call sites are those of both.
    public static let skipped = Code(description: "skipped")
    /// An effect sent the action after its run had ended.
    public static let effectEnded = Code(description: "effectEnded")
    /// `ReplyResult.reply` was read, and no store replied.
    public static let noReply = Code(description: "noReply")
    /// `ReplyResult.reply` was read, and several stores replied.
    public static let severalReplies = Code(description: "severalReplies")
    /// As many dispatches as a limit allows were in flight, and it rejects what is above.
    public static let limitExceeded = Code(description: "limitExceeded")
    /// A limit was exceeded, and this dispatch was dropped.
    public static let dropped = Code(description: "dropped")
    /// The dispatcher was closed before the dispatch was made.
    public static let dispatcherClosed = Code(description: "dispatcherClosed")
    /// `dispatch` was called on a store that is not registered with a dispatcher.
    public static let notRegistered = Code(description: "notRegistered")
  }
}
