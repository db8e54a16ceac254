private import Foundation

/// Logs a line when a store is about to get an action, and one when its run has ended.
///
/// A line has the dispatch, its parent if any, the action, the store, the mode and the call site. At the end it
/// also has the outcome, the duration and the time queued:
///
///     #12 in #11 will Deposit(amount: 5) → account, serial, Bank/Transfers.swift:41
///     #12 in #11 did Deposit(amount: 5) → account, serial, Bank/Transfers.swift:41: finished, 84 µs, queued 3 µs
///
/// Each line is written in one piece with its newline, even if many threads log at once. Newlines within it are
/// escaped. If registered first, it sees actions as dispatched, and their ends after all other middlewares. If
/// registered last, it sees the actions that the stores get.
public final class LoggerMiddleware: Middleware {
  private let write: @Sendable (_ line: String) -> Void

  /// Logs to standard error.
  public convenience init() {
    self.init(to: StandardError())
  }

  /// Logs to an output stream.
  ///
  /// Only a single thread writes at a time.
  ///
  /// The stream is called under the logger's lock, so it must not dispatch through a dispatcher that logs here.
  ///
  /// - Parameter sink: The stream. Nothing else may use it afterwards, unless it is `Sendable`.
  public init(to sink: sending some TextOutputStream) {
    let sink = Locked<any TextOutputStream>(sink)
    write = { line in sink.withLock { $0.write(line) } }
  }

  /// Logs to a closure.
  ///
  /// Several threads may call it at once, and it may dispatch.
  ///
  /// - Parameter write: Called with each line and its newline. No lock is held.
  public init(write: @escaping @Sendable (_ line: String) -> Void) {
    self.write = write
  }

  /// The hooks by store.
  public var hooks: MiddlewareHooks { .stores }

  /// Logs an action that a store is about to get, and lets it pass.
  public func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    log(describe(transaction, "will", action, store))
    return .pass
  }

  /// Logs a store run that has ended.
  public func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    let end = """
      : \(transaction.outcome), \(transaction.duration.microseconds) µs, \
      queued \(transaction.timeQueued.microseconds) µs
      """
    log(describe(transaction.dispatch, "did", action, store) + end)
  }

  private func describe(
    _ dispatch: DispatchInfo, _ verb: String, _ action: AnyAction, _ store: AnyStore
  ) -> String {
    let parent = dispatch.parent.map { " in \($0)" } ?? ""
    return """
      \(dispatch.id)\(parent) \(verb) \(action) → \(store.identifier), \(dispatch.mode), \(dispatch.callSite)
      """
  }

  private func log(_ text: String) {
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    write(lines.joined(separator: "\\n") + "\n")
  }
}

/// Standard error as a stream.
///
/// Ignores write errors, because a closed one is no reason to stop the program.
private struct StandardError: TextOutputStream {
  mutating func write(_ string: String) {
    try? FileHandle.standardError.write(contentsOf: Data(string.utf8))
  }
}

extension Duration {
  fileprivate var microseconds: Int64 {
    components.seconds * 1_000_000 + components.attoseconds / 1_000_000_000_000
  }
}
