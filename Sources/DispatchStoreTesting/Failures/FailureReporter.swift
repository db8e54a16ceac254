/// Where failed assertions go: to a handler where one was set, else to the test framework that runs.
///
/// A handler is set for a scope (`withFailureHandler`), as a task-local value. Threads and `deinit`s do not
/// have those, so whatever reports later takes a reporter along from where it was made, and reports
/// through that one, from any thread.
package struct FailureReporter: Sendable {
  /// An object: optimised code that binds a closure in a task crashes with Swift 6.3.
  final class Handler: Sendable {
    let handle: @Sendable (TestFailure) -> Void

    init(_ handle: @escaping @Sendable (TestFailure) -> Void) {
      self.handle = handle
    }
  }

  @TaskLocal static var scoped: Handler?

  private let captured: Handler?

  /// The reporter of the scope that this is called in.
  package init() {
    captured = Self.scoped
  }

  /// Reports a failure, or a note, at a place in the source.
  ///
  /// The handler of the scope in which this is called comes before that of the reporter's own.
  package func report(
    _ message: String, severity: TestFailure.Severity = .failure, at place: SourcePlace
  ) {
    let failure = TestFailure(severity: severity, message: message, place: place)
    if let handler = Self.scoped ?? captured { return handler.handle(failure) }
    TestFramework.current.record(failure)
  }
}

/// Catches what fails inside the closure, in its tasks, and in all that was made there and reports later.
///
/// - Parameters:
///   - handler: Called with each failure and note, on the thread that reports, instead of a framework.
///   - body: What may fail.
package func withFailureHandler<Value>(
  _ handler: @escaping @Sendable (TestFailure) -> Void, _ body: () throws -> Value
) rethrows -> Value {
  try FailureReporter.$scoped.withValue(FailureReporter.Handler(handler), operation: body)
}

/// Catches what fails inside the closure, in its tasks, and in all that was made there and reports later.
///
/// - Parameters:
///   - handler: Called with each failure and note, on the thread that reports, instead of a framework.
///   - body: What may fail.
package nonisolated(nonsending) func withFailureHandler<Value>(
  _ handler: @escaping @Sendable (TestFailure) -> Void,
  _ body: nonisolated(nonsending) () async throws -> Value
) async rethrows -> Value {
  try await FailureReporter.$scoped.withValue(FailureReporter.Handler(handler), operation: body)
}
