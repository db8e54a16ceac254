/// Prints the changes of each action for people to read.
///
///     account: Deposit(amount: 5) finished, version 3 → 4, 84 µs, #12
///       balance: 10 → 15
///
/// Each interception is written as a whole, even if several threads write at once. The differences are found by
/// comparing both models, in time linear in their size (`ModelDiff`).
public final class PrintInterceptor: Interceptor {
  /// The details to write for each action, besides the store, the action and its outcome.
  public struct Details: OptionSet, Sendable {
    /// The raw bits.
    public let rawValue: Int

    /// Makes details from raw bits.
    public init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// The versions before and after.
    public static let versions = Details(rawValue: 1)
    /// The time that the store took.
    public static let duration = Details(rawValue: 2)
    /// The transaction, and its parent if any.
    public static let transaction = Details(rawValue: 4)
    /// A line for each key path that differs.
    public static let differences = Details(rawValue: 8)
    /// Both models in full.
    public static let models = Details(rawValue: 16)
    /// The default details.
    public static let standard: Details = [.versions, .duration, .transaction, .differences]
  }

  private let details: Details
  private let write: @Sendable (_ text: String) -> Void

  /// Makes an interceptor that writes to standard output.
  public convenience init(details: Details = .standard) {
    self.init(details: details) { print($0, terminator: "") }
  }

  /// Makes an interceptor that writes to an output stream, one thread at a time.
  ///
  /// The interceptor's lock is held during a write, so the stream must not dispatch.
  ///
  /// - Parameters:
  ///   - sink: The stream; nothing else may use it afterwards, unless it is `Sendable`.
  ///   - details: The details to write.
  public convenience init(to sink: sending some TextOutputStream, details: Details = .standard) {
    let sink = Locked<any TextOutputStream>(sink)
    self.init(details: details) { text in sink.withLock { $0.write(text) } }
  }

  /// Makes an interceptor that writes to a closure, which several threads may call at once, and which may dispatch.
  ///
  /// - Parameters:
  ///   - details: The details to write.
  ///   - write: Called with the lines of one action, each with its newline, while no lock is held.
  public init(
    details: Details = .standard, write: @escaping @Sendable (_ text: String) -> Void
  ) {
    self.details = details
    self.write = write
  }

  /// Writes the lines of an interception.
  public func didHandle<Model: Sendable, Action: ActionType>(
    _ interception: Interception<Model, Action>
  ) {
    var lines = [heading(of: interception)]
    if details.contains(.models) {
      lines.append("  old: \(ModelDifference.line(interception.oldModel))")
      lines.append("  new: \(ModelDifference.line(interception.newModel))")
    }
    if details.contains(.differences) {
      lines += interception.differences.map { "  \($0)" }
    }
    write(lines.map { Self.escape($0) + "\n" }.joined())
  }

  private func heading<Model, Action>(of interception: Interception<Model, Action>) -> String {
    let (old, new) = (interception.oldVersion, interception.newVersion)
    var text =
      "\(interception.storeIdentifier): \(interception.action) \(interception.outcome)"
    if details.contains(.versions) {
      text += old == new ? ", version \(old)" : ", version \(old) → \(new)"
    }
    if details.contains(.duration) {
      text += ", \(Int64(interception.duration / .microseconds(1))) µs"
    }
    if details.contains(.transaction) {
      text += ", \(interception.transaction.id)"
      if let parent = interception.transaction.parent { text += " in \(parent)" }
    }
    return text
  }

  private static func escape(_ line: String) -> String {
    line.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .joined(separator: "\\n")
  }
}
