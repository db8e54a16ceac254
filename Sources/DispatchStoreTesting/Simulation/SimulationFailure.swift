/// The reason why a simulation failed.
public struct SimulationFailure: Error, Sendable, Hashable, CustomStringConvertible {
  /// A kind of failure.
  public enum Kind: String, Sendable, Hashable {
    /// The scenario threw.
    case threw
    /// An expectation was not met.
    case expectation
    /// No thread could run, and some work had not ended.
    case stalled
    /// The run took more steps than allowed.
    case tooLong
    /// A thread or task outside of the world took part in the run.
    case leftWorld
    /// The library was built without simulations.
    case unavailable
  }

  /// The kind.
  public let kind: Kind
  /// A description of the failure.
  ///
  /// For a stall: which thread waits for what.
  public let message: String

  /// Returns whether two failures are equal except for numbers, which change with the order.
  func isLike(_ other: SimulationFailure) -> Bool {
    guard kind == other.kind else { return false }
    guard kind == .threw || kind == .expectation else { return true }
    return message.filter { !$0.isNumber } == other.message.filter { !$0.isNumber }
  }

  /// The message.
  public var description: String { message }
}
