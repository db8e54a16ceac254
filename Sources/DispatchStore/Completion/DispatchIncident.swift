import Foundation

/// A harmless mistake of the program, which the dispatcher reports to `onIncident`.
public struct DispatchIncident: Sendable {
  /// Kinds of incidents; later versions may add more.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The kind's name.
    public let description: String

    /// An operation was finished a second time; the first one counts.
    public static let finishedTwice = Kind(description: "finishedTwice")
    /// An update was made through an operation that had ended; the model was not changed.
    public static let updateAfterEnd = Kind(description: "updateAfterEnd")
    /// The program released an operation without finishing it; it failed.
    public static let abandoned = Kind(description: "abandoned")
    /// A store was registered whose reducer overrides none of the methods that answer actions.
    public static let reducerMissing = Kind(description: "reducerMissing")
    /// A store was registered under an identifier that another store has, or once more with another
    /// `waitFor` or ownership; the first registration stays.
    public static let alreadyRegistered = Kind(description: "alreadyRegistered")
    /// No store responded to an action; reported once for each type of actions, and each dispatcher.
    public static let noResponder = Kind(description: "noResponder")
    /// A reducer refined its `waitFor` by an identifier under which no store is registered.
    public static let absentPrerequisite = Kind(description: "absentPrerequisite")
    /// A `didDispatch` hook threw; those of the other middlewares were called all the same.
    public static let middlewareFailed = Kind(description: "middlewareFailed")
    /// An effect threw; neither the dispatch that it followed nor another effect is concerned.
    public static let effectFailed = Kind(description: "effectFailed")
    /// Dispatches have not moved for a watchdog's limit; the message is its diagnosis.
    public static let stalled = Kind(description: "stalled")
    /// An effect sent an action after its run had ended; nothing was dispatched.
    public static let sentAfterEnd = Kind(description: "sentAfterEnd")
    /// A dispatcher was shut down before steps of a group were undone.
    public static let notCompensated = Kind(description: "notCompensated")
  }

  /// What happened.
  public let kind: Kind
  /// The store concerned, where there is one.
  public let storeIdentifier: String?
  /// What happened, with the action and the store.
  public let message: String

  /// Writes the incident to standard error: the default of `onIncident`.
  static func writeToStandardError(_ incident: DispatchIncident) {
    // A closed standard error is no reason to trap.
    try? FileHandle.standardError.write(
      contentsOf: Data("DispatchStore: \(incident.message)\n".utf8))
  }
}

extension DispatchIncident: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}
