import Foundation

/// Something that no result tells you, and that you should look at: a mistake of the program, or work that is stuck or
/// left undone.
///
/// Send warnings to your log: `Dispatcher.onWarning`.
public struct DispatchWarning: Sendable {
  /// Kinds of warnings.
  ///
  /// Later versions may add more.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The kind's name.
    public let description: String

    /// An operation was finished a second time; the first finish counts.
    ///
    /// Usually a callback came twice, or one branch of the block finishes and goes on. Finish on exactly one path.
    public static let finishedTwice = Kind(description: "finishedTwice")
    /// An update was made through an operation that had ended; the model was not changed.
    ///
    /// Usually a callback came after the finish, or after a time limit or a cancellation. Update before you finish, and
    /// stop the work once the operation is cancelled.
    public static let updateAfterEnd = Kind(description: "updateAfterEnd")
    /// The program released an operation without finishing it; the operation failed.
    ///
    /// Usually a callback was never called, or a branch of the block returns early. Finish on every path, or write the
    /// block as `async`.
    public static let abandoned = Kind(description: "abandoned")
    /// A store was registered whose reducer overrides none of the methods that answer actions.
    ///
    /// Usually the override has another signature. Each action fails until the reducer overrides one of them.
    public static let reducerMissing = Kind(description: "reducerMissing")
    /// A store was registered under the identifier of another store, or again with another `waitFor` or ownership.
    ///
    /// The first registration stays. Usually two parts of the program make the same store. Use the store that
    /// `register(store:)` returns, or unregister the first one.
    public static let alreadyRegistered = Kind(description: "alreadyRegistered")
    /// No store responded to an action; reported once for each action type and dispatcher.
    ///
    /// The dispatch succeeds. Usually the store is not registered yet, or with another dispatcher.
    public static let noResponder = Kind(description: "noResponder")
    /// A reducer refined its `waitFor` by an identifier under which no store is registered.
    ///
    /// The store waits for the others only. Usually the identifier is misspelt, or its store is registered later.
    public static let absentPrerequisite = Kind(description: "absentPrerequisite")
    /// A `didDispatch` hook, or a hook after an action, threw.
    ///
    /// The result does not change, and the hooks of the other middlewares are still called. Handle the error in the
    /// hook.
    public static let middlewareFailed = Kind(description: "middlewareFailed")
    /// An effect threw.
    ///
    /// Neither the dispatch that it followed nor any other effect is affected. Usually a request of the effect failed.
    /// Catch the error in the effect, and send an action that records it.
    public static let effectFailed = Kind(description: "effectFailed")
    /// A dispatch has not moved for the limit of `watchdog(after:report:)`.
    ///
    /// The message is a diagnosis with the waits. Usually a block awaits an answer that does not come: give it a time
    /// limit.
    public static let stalled = Kind(description: "stalled")
    /// An effect sent an action after the effect's run had ended; nothing was dispatched.
    ///
    /// Usually an unstructured task of the effect goes on after its closure has returned. Await the task in the effect.
    public static let effectEnded = Kind(description: "effectEnded")
    /// So many threads of the library block that further waits are refused, with `wouldDeadlock`.
    ///
    /// Reported once until only half as many block. Usually blocks wait with `.sync` or `handle.wait()`. Await
    /// dispatches in `async` blocks, or chain them.
    public static let tooManyBlockedThreads = Kind(description: "tooManyBlockedThreads")
    /// The row of a persisted model is larger than 64 KiB; reported once for each store.
    ///
    /// Each commit that changes the model writes the row anew. Keep the elements in a `TrackedDictionary`, and register
    /// the store with `persisted: .elements(…)`.
    public static let largeModelRow = Kind(description: "largeModelRow")
    /// The journal of the database is larger than 64 MiB, and grows.
    ///
    /// Another program, for example a backup or an open `sqlite3`, reads in a transaction that it doesn't end. End it.
    public static let largeJournal = Kind(description: "largeJournal")
    /// Saving waits, because the database is locked or there is no room.
    ///
    /// Dispatches to persistent stores wait meanwhile. The message says what to do.
    public static let savingDelayed = Kind(description: "savingDelayed")
    /// A reply with an idempotency key, or an action that is saved, threw when it was encoded.
    ///
    /// The change is saved, and so is the row of the key or the work. After a restart, a repeat ends with an error, and
    /// the work is a dead letter.
    public static let notEncodable = Kind(description: "notEncodable")
    /// Steps of a group were not undone: their compensations failed, or the dispatcher was shut down before.
    ///
    /// The message names the group and the steps, and the first error of a compensation. Undo the named steps by hand.
    /// Call `drain` with a limit before `shutDown()`.
    public static let notCompensated = Kind(description: "notCompensated")
    /// The work of a durable effect, or a saved schedule, has failed for good, and is kept as a dead letter.
    ///
    /// The message names it and the error. Look at `Dispatcher.deadLetters`. If another schedule has taken the name
    /// meanwhile, the failed one is not kept; the message says so.
    public static let deadLetter = Kind(description: "deadLetter")
    /// An earlier process has left work that can't go on: its effect, store or dispatcher is not there, or its action
    /// can't be decoded.
    ///
    /// The work stays saved. Register what is missing, and call `resumeWork()` again.
    public static let workNotResumed = Kind(description: "workNotResumed")
    /// A scheduled action has a name and is `Codable`, so it seems to be meant to be saved, but is not.
    ///
    /// The message says why. Reported once for each type of action.
    public static let scheduleNotSaved = Kind(description: "scheduleNotSaved")
  }

  /// The kind of warning.
  public let kind: Kind
  /// The store concerned, if any.
  public let storeIdentifier: String?
  /// A description, with the action and the store.
  public let message: String

  /// Writes the warning to standard error: the default of `onWarning`.
  static func writeToStandardError(_ warning: DispatchWarning) {
    // A closed standard error is no reason to trap.
    try? FileHandle.standardError.write(
      contentsOf: Data("DispatchStore: \(warning.message)\n".utf8))
  }
}

extension DispatchWarning: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}
