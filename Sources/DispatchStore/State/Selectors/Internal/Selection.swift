/// A value that a selector has computed, without its type; immutable, so that threads can share it.
class Selection: @unchecked Sendable {
  // because it is constant
  /// The value's stamp, which two selections of one selector share only if their values are equal.
  final let stamp: UInt64
  /// The stamps of the inputs; empty if the value was read from the model.
  final let inputs: [UInt64]

  init(stamp: UInt64, inputs: [UInt64]) {
    self.stamp = stamp
    self.inputs = inputs
  }
}

/// A selection with its type.
final class TypedSelection<Value>: Selection, @unchecked Sendable {
  // because its superclass is, and it is constant, too
  let value: Value

  init(_ value: Value, stamp: UInt64, inputs: [UInt64] = []) {
    self.value = value
    super.init(stamp: stamp, inputs: inputs)
  }
}
