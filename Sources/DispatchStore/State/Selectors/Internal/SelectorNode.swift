import Synchronization

/// The operations of a selector, without the types of its model and value.
class SelectorNode: @unchecked Sendable {
  // because it is constant
  /// The identifier, unique in the process and never reused.
  final let id: UInt64
  final let plan: SelectorPlan
  final let life = SelectorLife()

  private static let lastID = Atomic<UInt64>(0)

  init(inputs: [SelectorNode]) {
    id = Self.lastID.add(1, ordering: .relaxed).newValue
    plan = SelectorPlan(of: inputs)
  }

  /// Reads the model; returns the last selection itself if the value has the same bytes.
  func read(
    _ model: UnsafeRawPointer, last: Selection?, stamp: UInt64
  ) -> Selection { fatalError("SelectorNode is abstract.") }

  /// Computes the value from the inputs.
  func compute(_ inputs: SelectedInputs, stamp: UInt64) -> Selection {
    fatalError("SelectorNode is abstract.")
  }

  /// Returns the selection, with the stamp of the last one if both values are equal.
  ///
  /// The selection keeps its own value, which may share memory with the model.
  func settle(_ selection: Selection, last: Selection) -> Selection {
    fatalError("SelectorNode is abstract.")
  }
}

/// Marks a node's lifetime: memos refer weakly to this object instead of the node.
///
/// A weak reference to the node itself would slow down its reference counting.
final class SelectorLife: Sendable {}

/// A node with the type of its value.
final class TypedSelectorNode<Value: Sendable>: SelectorNode, @unchecked Sendable {
  // because its superclass is, and it is constant, too
  private enum Source {
    case model(@Sendable (UnsafeRawPointer) -> Value)
    case inputs(@Sendable (SelectedInputs) -> Value)
  }

  private let source: Source
  let equality = ElementEquality<Value>()

  /// - Parameter read: Called with the address of a model, inside the store's exclusive section.
  init(reading read: @escaping @Sendable (UnsafeRawPointer) -> Value) {
    source = .model(read)
    super.init(inputs: [])
  }

  init(of inputs: [SelectorNode], _ compute: @escaping @Sendable (SelectedInputs) -> Value) {
    source = .inputs(compute)
    super.init(inputs: inputs)
  }

  func value(of selection: Selection) -> Value {
    unsafeDowncast(selection, to: TypedSelection<Value>.self).value
  }

  override func read(
    _ model: UnsafeRawPointer, last: Selection?, stamp: UInt64
  ) -> Selection {
    guard case .model(let read) = source else {
      return compute(SelectedInputs([], at: []), stamp: stamp)
    }
    let value = read(model)
    // Values that are not `Equatable` may be references with the same bytes to changed objects.
    if equality.areEqual != nil, let last, haveSameBytes(value, self.value(of: last)) {
      return last
    }
    return TypedSelection(value, stamp: stamp)
  }

  override func compute(_ inputs: SelectedInputs, stamp: UInt64) -> Selection {
    guard case .inputs(let compute) = source else { fatalError("A root has no inputs.") }
    return TypedSelection(compute(inputs), stamp: stamp, inputs: inputs.stamps)
  }

  override func settle(_ selection: Selection, last: Selection) -> Selection {
    if selection === last { return last }
    let (value, lastValue) = (value(of: selection), value(of: last))
    if equality.differ(value, lastValue) { return selection }
    return TypedSelection(value, stamp: last.stamp, inputs: selection.inputs)
  }
}
