/// The methods of `Reducer` that a class overrides.
///
/// A reducer without `operation(for:in:)` needs no operation, and one without `waitFor` no call of it. Both would
/// cost more than the reduction. A reducer that overrides nothing is reported.
///
/// The language does not tell, so the classes' method tables are compared. These are the words of their metadata
/// behind the header: see "Class Metadata" in Swift's ABI/TypeMetadata document. A method's index is found by
/// comparing `Reducer` with a class that overrides the method. Anything unexpected counts as overridden, which is
/// slower and never wrong.
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

  /// Describes a handler, which has no reducer class, by its answer.
  init(_ answer: ReducerAnswer) {
    operation = answer == .operation
    apply = answer == .application
    reduce = answer == .reduction
    (waitFor, shouldNotifyObservers) = (false, false)
  }

  /// Whether no method answers, so that each dispatch fails.
  var answersNothing: Bool { !operation && !apply && !reduce }

  /// Whether overrides can be determined.
  ///
  /// If not, each method counts as overridden.
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

  /// Returns the index of the only word that differs with one override and is the same in a subclass without any.
  private static func index(overriddenIn probe: AnyClass) -> Int? {
    let heir = MethodTable(of: HeirProbe.self)
    let differences = base.differences(from: MethodTable(of: probe)).filter { index in
      base[index] == heir[index]
    }
    return differences.count == 1 ? differences[0] : nil
  }
}

/// The way in which a reducer answers an action.
enum ReducerAnswer {
  /// Answers by `reduce(into:action:)`.
  case reduction
  /// Answers by `apply(_:to:)`.
  case application
  /// Answers by `operation(for:in:)`.
  case operation
}

private struct Probed: ActionType {}

/// A subclass without overrides.
///
/// Like every subclass, it differs from `Reducer` in its initializers.
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

/// The words of a class's metadata, which contain the addresses of its methods.
///
/// Only a bit cast gives access to them.
private struct MethodTable {
  private let words: UnsafePointer<UInt>
  /// The size of the header: kind, superclass, flags and sizes, descriptor, destroyer of variables.
  private static let headerCount = 7

  init(of type: AnyClass) {
    words = unsafeBitCast(type, to: UnsafePointer<UInt>.self)
  }

  subscript(index: Int) -> UInt { words[index] }

  /// The number of words that a subclass has too.
  private var count: Int {
    #if canImport(ObjectiveC)
      // Unsupported: another header, and method addresses that may be signed.
      return 0
    #else
      let sizes = UnsafeRawPointer(words + 4)
      let (size, addressPoint) = (
        sizes.load(as: UInt32.self), sizes.load(fromByteOffset: 4, as: UInt32.self)
      )
      return (Int(size) - Int(addressPoint)) / MemoryLayout<UInt>.size
    #endif
  }

  /// Returns the indices behind the header at which a subclass has another word.
  func differences(from other: MethodTable) -> [Int] {
    guard count > Self.headerCount, other.count >= count else { return [] }
    return (Self.headerCount..<count).filter { self[$0] != other[$0] }
  }
}
