/// Whether a model changed as a closure says.
struct ChangeCheck<Model: Sendable> {
  let storeIdentifier: String
  /// What is asserted about: an action, or a change.
  let subject: String
  let before: Model
  let after: Model
  let exhaustivity: Exhaustivity

  /// What to report; nil where all is as expected.
  func failure(of change: ((inout Model) throws -> Void)?) -> String? {
    guard let change else {
      return exhaustivity.isOn ? unexpected("in \(subject)") : nil
    }
    // Where not all has to be said, what is not said is as it is.
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
    guard exhaustivity.isOn, Diff.areEqual(before, after) else { return nil }
    return """
      The model of store "\(storeIdentifier)" did not change in \(subject), and the closure changes \
      nothing either. Leave it out.
      """
  }

  /// What to report of a change that nothing was said of.
  ///
  /// - Parameter origin: Where it comes from, as in "changed in …".
  func unexpected(_ origin: String) -> String? {
    difference(before, after).map { difference in
      """
      The model of store "\(storeIdentifier)" changed \(origin), and nothing was said of that:

      \(difference)

      (− before, + after)
      """
    }
  }

  private func difference(_ expected: Model, _ actual: Model) -> String? {
    if Diff.areEqual(expected, actual) { return nil }
    return Diff.text(expected: expected, actual: actual)
  }
}
