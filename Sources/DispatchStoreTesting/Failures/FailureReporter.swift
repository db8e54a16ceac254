/// Passes failed assertions to a handler if one is set, and otherwise to the running test framework.
///
/// `withFailureHandler` sets a handler for a scope, as a task-local value. Threads and `deinit`s do not have those.
/// An object that reports later therefore keeps a reporter from where it was made, and reports through that, from any
/// thread.
package struct FailureReporter: Sendable {
  /// A failure handler.
  ///
  /// A class, because optimised code that binds a closure as a task-local value crashes with Swift 6.3.
  final class Handler: Sendable {
    let handle: @Sendable (TestFailure) -> Void

    init(_ handle: @escaping @Sendable (TestFailure) -> Void) {
      self.handle = handle
    }
  }

  @TaskLocal static var scoped: Handler?

  private let captured: Handler?

  /// Captures the handler of the scope in which this is called.
  package init() {
    captured = Self.scoped
  }

  /// Reports a failure, or a note, at a place in the source.
  ///
  /// A handler of the current scope takes precedence over the captured one.
  package func report(
    _ message: String, severity: TestFailure.Severity = .failure, at place: SourcePlace
  ) {
    let failure = TestFailure(severity: severity, message: message, place: place)
    if let handler = Self.scoped ?? captured { return handler.handle(failure) }
    TestFramework.current.record(failure)
  }
}

extension FailureReporter {
  /// Notes for what a task waited that was cancelled, such as one of a test whose time limit has passed.
  ///
  /// - Parameters:
  ///   - awaited: What it waited for.
  ///   - underWay: What is under way, in words.
  func noteCancellation(_ awaited: String, at place: SourcePlace, underWay: [String] = []) {
    report(Self.cancellation(awaited, underWay: underWay), severity: .note, at: place)
  }

  /// The text about a task that was cancelled.
  static func cancellation(_ awaited: String, underWay: [String]) -> String {
    let lines = underWay.map { "\n  \($0)" }.joined()
    let list = lines.isEmpty ? "" : " Under way:\n" + lines
    return "The task was cancelled while it waited for \(awaited).\(list)"
  }
}

/// Catches failures inside the closure, in its tasks, and of reporters that were made there.
///
/// - Parameters:
///   - handler: Called with each failure and note, on the thread that reports, instead of the framework.
///   - body: The code that may fail.
package nonisolated(nonsending) func withFailureHandler<Value>(
  _ handler: @escaping @Sendable (TestFailure) -> Void,
  _ body: nonisolated(nonsending) () async throws -> Value
) async rethrows -> Value {
  try await FailureReporter.$scoped.withValue(FailureReporter.Handler(handler), operation: body)
}
