/// A failed assertion, or a note of something that was let pass.
package struct TestFailure: Sendable {
  /// How much it matters.
  package enum Severity: Sendable {
    /// The test fails.
    case failure
    /// The test goes on; somebody may want to know.
    case note
  }

  package let severity: Severity
  package let message: String
  package let place: SourcePlace
}
