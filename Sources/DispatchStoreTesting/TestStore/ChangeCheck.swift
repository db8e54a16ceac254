import DispatchStore

/// Compares a change of a model with the change that a closure makes.
struct ChangeCheck<Model: Sendable> {
  let storeIdentifier: String
  /// The action or change that the assertion is about.
  let subject: String
  let before: Model
  let after: Model
  let exhaustivity: Exhaustivity
  /// Whether it is about one commit, which may change nothing.
  var isOfCommit = false

  /// Returns the failure to report, or nil if the model changed as expected.
  func failure(of change: ((inout Model) throws -> Void)?) -> String? {
    guard let change else {
      return exhaustivity.isOn ? unexpected("in \(subject)") : nil
    }
    // Without exhaustivity, fields that the closure does not set count as expected.
    var expected = exhaustivity.isOn ? before : after
    do {
      try change(&expected)
    } catch {
      return "The closure for \(subject) threw an error: \(error)"
    }
    if let difference = difference(expected, after) {
      return """
        The model of store "\(storeIdentifier)" after \(subject) is not the expected one:

        \(difference)

        (− expected, + actual)
        """
    }
    guard exhaustivity.isOn, !isOfCommit, Diff.areEqual(before, after) else { return nil }
    return """
      The model of store "\(storeIdentifier)" did not change in \(subject), and the closure changes \
      nothing either. Omit the closure.
      """
  }

  /// Returns the failure to report for a change that was not asserted, or nil if the model did not change.
  ///
  /// - Parameter origin: The place that the change comes from, as in "changed in …".
  func unexpected(_ origin: String) -> String? {
    difference(before, after).map { difference in
      """
      The model of store "\(storeIdentifier)" changed \(origin), and that was not asserted:

      \(difference)

      (− before, + after)
      """
    }
  }

  private func difference(_ expected: Model, _ actual: Model) -> String? {
    let text = text(expected, actual, takesNaNAsEqual: false)
    // Looking for pairs of NaN takes time that is exponential in the depth of the model.
    let mayHaveNaN = text?.contains(#/\bnan\b/#) == true
    return mayHaveNaN ? self.text(expected, actual, takesNaNAsEqual: true) : text
  }

  private func text(_ expected: Model, _ actual: Model, takesNaNAsEqual: Bool) -> String? {
    var comparison = DiffComparison()
    comparison.takesNaNAsEqual = takesNaNAsEqual
    return comparison.lines("", expected, actual, depth: 0).map(DiffLine.text)
  }
}
