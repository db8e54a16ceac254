/// A value that a selector has computed, without its type; never changed, so that threads share it.
class Selection: @unchecked Sendable {
  // because it is constant
  /// Differs from that of another selection of the same selector, unless both values are equal.
  final let stamp: UInt64
  /// The stamps of the inputs that it was computed from; empty where it was read from the model.
  final let inputs: [UInt64]

  init(stamp: UInt64, inputs: [UInt64]) {
    self.stamp = stamp
    self.inputs = inputs
  }
}

/// The same with its type.
final class TypedSelection<Value>: Selection, @unchecked Sendable {
  // because its superclass is, and it is constant, too
  let value: Value

  init(_ value: Value, stamp: UInt64, inputs: [UInt64] = []) {
    self.value = value
    super.init(stamp: stamp, inputs: inputs)
  }
}
