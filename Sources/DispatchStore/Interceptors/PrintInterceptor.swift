/// Writes what each action has changed, for people to read.
///
///     account: Deposit(amount: 5) finished, version 3 → 4, 84 µs, #12
///       balance: 10 → 15
///
/// Each interception is written whole, however many threads write at once. The differences are found by
/// comparing both models, in time linear in their size (`ModelDiff`).
public final class PrintInterceptor: Interceptor {
  /// What is written of each action, beside the store, the action, and how it ended.
  public struct Details: OptionSet, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Makes one of bits.
    public init(rawValue: Int) {
      self.rawValue = rawValue
    }

    /// The versions before and after.
    public static let versions = Details(rawValue: 1)
    /// How long the store took.
    public static let duration = Details(rawValue: 2)
    /// The transaction, and its parent if any.
    public static let transaction = Details(rawValue: 4)
    /// A line for each key path that differs.
    public static let differences = Details(rawValue: 8)
    /// Both models, whole.
    public static let models = Details(rawValue: 16)
    /// What is written unless said otherwise.
    public static let standard: Details = [.versions, .duration, .transaction, .differences]
  }

  private let details: Details
  private let write: @Sendable (_ text: String) -> Void

  /// Writes to standard output.
  public convenience init(details: Details = .standard) {
    self.init(details: details) { print($0, terminator: "") }
  }

  /// Writes to an output stream: one thread at a time.
  ///
  /// The thread has the interceptor's lock meanwhile: the stream must not dispatch.
  ///
  /// - Parameters:
  ///   - sink: The stream; nothing else may use it afterwards, unless it is `Sendable`.
  ///   - details: What is written.
  public convenience init(to sink: sending some TextOutputStream, details: Details = .standard) {
    let sink = Locked<any TextOutputStream>(sink)
    self.init(details: details) { text in sink.withLock { $0.write(text) } }
  }

  /// Writes to a closure, which several threads may call at once, and which may dispatch.
  ///
  /// - Parameters:
  ///   - details: What is written.
  ///   - write: Called with the lines of one action, each with its newline, while no lock is held.
  public init(
    details: Details = .standard, write: @escaping @Sendable (_ text: String) -> Void
  ) {
    self.details = details
    self.write = write
  }

  /// Writes its lines.
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
