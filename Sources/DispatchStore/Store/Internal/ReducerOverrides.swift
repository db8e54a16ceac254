/// Which of `Reducer`'s methods a class overrides.
///
/// A reducer that does not override `operation(for:in:)` needs no operation, and one that does not
/// override `waitFor` no call of it; both would cost more than the reduction. One that overrides nothing is
/// reported. The language does not say,
/// so the classes' method tables are compared: the words of their metadata behind the header, as
/// described under "Class Metadata" in Swift's ABI/TypeMetadata document. The index of a method in the
/// table is found by comparing `Reducer` with a class that does override it. Whatever is not exactly as
/// expected counts as overridden, which is slower, and never wrong.
struct ReducerOverrides {
  let operation: Bool
  let apply: Bool
  let reduce: Bool
  let waitFor: Bool
  let shouldNotifyObservers: Bool

  init(of reducer: AnyObject) {
    let table = MethodTable(of: type(of: reducer))
    operation = Self.overrides(table, Self.operationIndex)
    apply = Self.overrides(table, Self.applyIndex)
    reduce = Self.overrides(table, Self.reduceIndex)
    waitFor = Self.overrides(table, Self.waitForIndex)
    shouldNotifyObservers = Self.overrides(table, Self.notifyIndex)
  }

  /// Of a reducer without a class: how it answers.
  init(_ answer: ReducerAnswer) {
    operation = answer == .operation
    apply = answer == .application
    reduce = answer == .reduction
    (waitFor, shouldNotifyObservers) = (false, false)
  }

  /// Whether no method answers: each dispatch fails.
  var answersNothing: Bool { !operation && !apply && !reduce }

  /// Whether what is said of a reducer is so; else each method counts as overridden.
  static var areKnown: Bool {
    [operationIndex, applyIndex, reduceIndex, waitForIndex, notifyIndex].allSatisfy { $0 != nil }
  }

  /// The method that answers.
  var answer: ReducerAnswer {
    if operation { return .operation }
    return apply ? .application : .reduction
  }

  private static func overrides(_ table: MethodTable, _ index: Int?) -> Bool {
    guard let index else { return true }
    return table[index] != base[index]
  }

  private static var base: MethodTable { MethodTable(of: Reducer<Int, Probed>.self) }
  private static let operationIndex = index(overriddenIn: OperationProbe.self)
  private static let applyIndex = index(overriddenIn: ApplyProbe.self)
  private static let reduceIndex = index(overriddenIn: ReduceProbe.self)
  private static let waitForIndex = index(overriddenIn: WaitForProbe.self)
  private static let notifyIndex = index(overriddenIn: NotifyProbe.self)

  /// The one word that is another in a class with one override, and not in one without any.
  private static func index(overriddenIn probe: AnyClass) -> Int? {
    let heir = MethodTable(of: HeirProbe.self)
    let differences = base.differences(from: MethodTable(of: probe)).filter { index in
      base[index] == heir[index]
    }
    return differences.count == 1 ? differences[0] : nil
  }
}

/// How a reducer answers.
enum ReducerAnswer {
  /// By `reduce(into:action:)`.
  case reduction
  /// By `apply(_:to:)`.
  case application
  /// By `operation(for:in:)`.
  case operation
}

private struct Probed: ActionType {}

/// Has initializers, as every subclass.
private final class HeirProbe: Reducer<Int, Probed> {}

private final class OperationProbe: Reducer<Int, Probed> {
  override func operation(
    for action: Probed, in store: Store<Int, Probed>
  ) -> ActionOperation<Int, Probed> {
    fatalError("OperationProbe is never called.")
  }
}

private final class ApplyProbe: Reducer<Int, Probed> {
  override func apply(_ action: Probed, to store: Store<Int, Probed>) {
    fatalError("ApplyProbe is never called.")
  }
}

private final class ReduceProbe: Reducer<Int, Probed> {
  override func reduce(into model: inout Int, action: Probed) {
    fatalError("ReduceProbe is never called.")
  }
}

private final class WaitForProbe: Reducer<Int, Probed> {
  override func waitFor(
    for action: Probed, in store: Store<Int, Probed>, declared: WaitFor
  ) -> WaitFor {
    fatalError("WaitForProbe is never called.")
  }
}

private final class NotifyProbe: Reducer<Int, Probed> {
  override func shouldNotifyObservers(for action: Probed, in store: Store<Int, Probed>) -> Bool {
    fatalError("NotifyProbe is never called.")
  }
}

/// The words of a class's metadata, among them the addresses of its methods, which only a bit cast shows.
private struct MethodTable {
  private let words: UnsafePointer<UInt>
  /// Behind the header: kind, superclass, flags and sizes, descriptor, destroyer of variables.
  private static let headerCount = 7

  init(of type: AnyClass) {
    words = unsafeBitCast(type, to: UnsafePointer<UInt>.self)
  }

  subscript(index: Int) -> UInt { words[index] }

  /// The words that a subclass has too.
  private var count: Int {
    #if canImport(ObjectiveC)
      // Another header, and method addresses that may be signed: not looked at.
      return 0
    #else
      let sizes = UnsafeRawPointer(words + 4)
      let (size, addressPoint) = (
        sizes.load(as: UInt32.self), sizes.load(fromByteOffset: 4, as: UInt32.self)
      )
      return (Int(size) - Int(addressPoint)) / MemoryLayout<UInt>.size
    #endif
  }

  /// The indices behind the header at which a subclass has another word.
  func differences(from other: MethodTable) -> [Int] {
    guard count > Self.headerCount, other.count >= count else { return [] }
    return (Self.headerCount..<count).filter { self[$0] != other[$0] }
  }
}
