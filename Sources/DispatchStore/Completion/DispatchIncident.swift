import Foundation

/// Something harmless that should not have happened, and that somebody should hear of.
public struct DispatchIncident: Sendable {
  /// Kinds of incidents; later versions may add more.
  public struct Kind: Hashable, Sendable, CustomStringConvertible {
    /// The kind's name.
    public let description: String

    /// An operation was finished a second time; the first one counts.
    public static let finishedTwice = Kind(description: "finishedTwice")
    /// An update through an operation that had ended; nothing was changed.
    public static let updateAfterEnd = Kind(description: "updateAfterEnd")
    /// An operation was released without having been finished; it failed.
    public static let abandoned = Kind(description: "abandoned")
    /// A `didDispatch` hook threw; the others were told all the same.
    public static let middlewareFailed = Kind(description: "middlewareFailed")
  }

  /// What happened.
  public let kind: Kind
  /// The store to which it happened, where there is one.
  public let storeIdentifier: String?
  /// What happened, and to whom.
  public let message: String

  /// Writes the incident to standard error: what a dispatcher does unless told otherwise.
  static func writeToStandardError(_ incident: DispatchIncident) {
    // Where nobody can read it, that is no reason to stop.
    try? FileHandle.standardError.write(
      contentsOf: Data("DispatchStore: \(incident.message)\n".utf8))
  }
}

extension DispatchIncident: CustomStringConvertible {
  /// The message.
  public var description: String { message }
}
