private import Foundation

extension Hook {
  /// Makes a hook that logs a line when a store is about to get an action, and one when its run has ended.
  ///
  /// A line has the dispatch, its parent if any, the action, the store, the mode and the call site. At the end it
  /// also has the outcome, the duration and the time queued. For example:
  ///
  ///     #12 in #11 will Deposit(amount: 5) → account, serial, Bank/Transfers.swift:41
  ///     #12 in #11 did Deposit(amount: 5) → account, serial, Bank/Transfers.swift:41: finished, 84 µs, queued 3 µs
  ///
  /// Newlines within a line are escaped. If registered first, the hook sees actions as dispatched, and their ends
  /// after all other middlewares. If registered last, it sees the actions that the stores get.
  ///
  /// - Parameter write: Called with each line and its newline, with no lock held, perhaps on several threads at once.
  ///   Without one, each line goes to standard error, in one piece; write errors are ignored.
  public static func logging(
    to write: (@Sendable (_ line: String) -> Void)? = nil
  ) -> Hook {
    Hook(LoggingMiddleware(write: write ?? writeToStandardError))
  }
}

private final class LoggingMiddleware: Middleware {
  private let write: @Sendable (_ line: String) -> Void

  init(write: @escaping @Sendable (_ line: String) -> Void) {
    self.write = write
  }

  var hooks: MiddlewareHooks { .stores }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    log(describe(transaction, "will", action, store))
    return .pass
  }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    let end = """
      : \(transaction.outcome), \(Int64(transaction.duration / .microseconds(1))) µs, \
      queued \(Int64(transaction.timeQueued / .microseconds(1))) µs
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
    write(text.onOneLine + "\n")
  }
}

/// Ignores write errors, because a closed standard error is no reason to stop the program.
@Sendable
private func writeToStandardError(_ line: String) {
  try? FileHandle.standardError.write(contentsOf: Data(line.utf8))
}
