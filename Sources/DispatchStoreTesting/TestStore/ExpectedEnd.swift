import DispatchStore

/// The expected outcome of an action.
public struct ExpectedEnd: Sendable {
  let description: String
  private let matches: @Sendable ((any Error)?) -> Bool

  private init(_ description: String, _ matches: @escaping @Sendable ((any Error)?) -> Bool) {
    self.description = description
    self.matches = matches
  }

  /// Expects that all stores finished, or none responded.
  public static let success = ExpectedEnd("success") { $0 == nil }

  /// Expects cancellation.
  public static let cancelled = ExpectedEnd("cancelled") { $0 is CancellationError }

  /// Expects a middleware's veto.
  public static let vetoed = ExpectedEnd("vetoed") { ($0 as? DispatchError)?.code == .vetoed }

  /// Expects any error, except a cancellation or a veto.
  public static let failure = ExpectedEnd("failure") { error in
    error != nil && !cancelled.matches(error) && !vetoed.matches(error)
  }

  /// Expects any outcome.
  public static let any = ExpectedEnd("any end") { _ in true }

  /// Expects this error.
  public static func failure<Failure: Error & Equatable>(_ error: Failure) -> ExpectedEnd {
    ExpectedEnd("failure: \(Diff.line(error))") { ($0 as? Failure) == error }
  }

  /// Expects an error of this type.
  public static func failure<Failure: Error>(_ kind: Failure.Type) -> ExpectedEnd {
    ExpectedEnd("failure: \(kind)") { $0 is Failure }
  }

  /// Returns the failure to report for an action, or nil if it ended as expected.
  func mismatch(_ name: String, _ error: (any Error)?) -> String? {
    if matches(error) { return nil }
    return """
      \(name) did not end as expected:

      − \(description)
      + \(Self.describe(error))

      (− expected, + actual)
      """
  }

  /// Returns an outcome as text.
  static func describe(_ error: (any Error)?) -> String {
    switch error {
    case nil: "success"
    case is CancellationError: "cancelled"
    case let error as DispatchError: "\(error.code): \(error.message)"
    case let error?: "failure: \(Diff.line(error))"
    }
  }
}
