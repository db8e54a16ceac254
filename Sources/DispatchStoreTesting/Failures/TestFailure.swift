/// A failed assertion, or a note about a change or action that the test skipped.
package struct TestFailure: Sendable {
  /// The severity of a failure.
  package enum Severity: Sendable {
    /// The test fails.
    case failure
    /// The test does not fail.
    ///
    /// The framework shows the note.
    case note
  }

  package let severity: Severity
  package let message: String
  package let place: SourcePlace
}
