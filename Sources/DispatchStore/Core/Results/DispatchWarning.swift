import Foundation

/// A harmless mistake of the program, reported to the dispatcher's `onWarning`.
public struct DispatchWarning: Sendable {
  /// Kinds of warnings.
  ///
  /// Later versions may add more.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The kind's name.
    public let description: String

    /// An operation was finished a second time.
    ///
    /// The first finish counts.
    public static let finishedTwice = Kind(description: "finishedTwice")
    /// An update was made through an operation that had ended.
    ///
    /// The model was not changed.
    public static let updateAfterEnd = Kind(description: "updateAfterEnd")
    /// The program released an operation without finishing it.
    ///
    /// The operation failed.
    public static let abandoned = Kind(description: "abandoned")
    /// A store was registered whose reducer overrides none of the methods that answer actions.
    public static let reducerMissing = Kind(description: "reducerMissing")
    /// A store was registered under the identifier of another store, or again with other options.
    ///
    /// The first registration stays.
    ///
    /// The other options are a different `waitFor` or ownership.
    public static let alreadyRegistered = Kind(description: "alreadyRegistered")
    /// No store responded to an action.
    ///
    /// Reported once for each action type and dispatcher.
    public static let noResponder = Kind(description: "noResponder")
    /// A reducer refined its `waitFor` by an identifier under which no store is registered.
    public static let absentPrerequisite = Kind(description: "absentPrerequisite")
    /// A `didDispatch` hook threw.
    ///
    /// The hooks of the other middlewares were still called.
    public static let middlewareFailed = Kind(description: "middlewareFailed")
    /// An effect threw.
    ///
    /// Neither the dispatch that it followed nor any other effect is affected.
    public static let effectFailed = Kind(description: "effectFailed")
    /// No dispatch has made progress for a watchdog's limit.
    ///
    /// The message is the watchdog's diagnosis.
    public static let stalled = Kind(description: "stalled")
    /// An effect sent an action after the effect's run had ended.
    ///
    /// Nothing was dispatched.
    public static let sentAfterEnd = Kind(description: "sentAfterEnd")
    /// So many blocks wait on threads of the library that one more wait was refused, with `wouldDeadlock`.
    public static let tooManyBlockedThreads = Kind(description: "tooManyBlockedThreads")
    /// A dispatcher was shut down before steps of a group were undone.
    public static let notCompensated = Kind(description: "notCompensated")
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
