public import DispatchStore

/// The model of all measured stores: a sum, and how many actions went into it.
public struct Counter: ModelType {
  /// The sum of the amounts.
  public private(set) var sum = 0
  /// The number of actions.
  public private(set) var count = 0
  @usableFromInline var leftOfBurst = BurstGate.size
  @usableFromInline let gate: BurstGate?

  /// Makes a counter without a gate.
  public init() {
    self.init(gate: nil)
  }

  /// Makes a counter that opens a gate each time a burst of actions has run.
  public init(gate: BurstGate?) {
    self.gate = gate
  }

  /// The reduction: what every action, and every floor, does to the model.
  @inline(__always)
  public mutating func add(_ amount: Int) {
    sum &+= amount
    count &+= 1
    leftOfBurst &-= 1
    if leftOfBurst == 0 {
      leftOfBurst = BurstGate.size
      gate?.open()
    }
  }
}
