public import DispatchStore

/// Adds an amount: an action of one byte.
public struct Add: ActionType {
  /// The amount.
  public let amount: UInt8

  /// Makes an action; of `amount` the lowest byte counts.
  @inline(__always)
  public init(_ amount: Int) {
    self.amount = UInt8(truncatingIfNeeded: amount)
  }
}
