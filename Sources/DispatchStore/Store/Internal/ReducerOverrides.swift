/// Which of `Reducer`'s methods a class overrides.
///
/// A reducer that does not override `operation(for:in:)` needs no operation, and one that does not
/// override `waitFor` need not be asked; both would cost more than the reduction. The language can't
/// be asked, so the classes' method tables are: the words of their metadata behind the header, as
/// described under "Class Metadata" in Swift's ABI/TypeMetadata document. Where the method is in the table
/// is found by comparing `Reducer` with a class that does override it. Whatever is not exactly as
/// expected counts as overridden, which is slower, and never wrong.
struct ReducerOverrides {
  let operation: Bool
  let apply: Bool
  let waitFor: Bool

  init(of reducer: AnyObject) {
    let table = MethodTable(of: type(of: reducer))
    operation = Self.overrides(table, Self.operationPlace)
    apply = Self.overrides(table, Self.applyPlace)
    waitFor = Self.overrides(table, Self.waitForPlace)
  }

  /// The method that answers.
  var answer: ReducerAnswer {
    if operation { return .operation }
    return apply ? .application : .reduction
  }

  private static func overrides(_ table: MethodTable, _ place: Int?) -> Bool {
    guard let place else { return true }
    return table[place] != base[place]
  }

  private static let base = MethodTable(of: Reducer<Int, Probed>.self)
  private static let operationPlace = place(overriddenIn: OperationProbe.self)
  private static let applyPlace = place(overriddenIn: ApplyProbe.self)
  private static let waitForPlace = place(overriddenIn: WaitForProbe.self)

  /// The one word that is another in a class with one override, and not in one without any.
  private static func place(overriddenIn probe: AnyClass) -> Int? {
    let heir = MethodTable(of: HeirProbe.self)
    let differences = base.differences(from: MethodTable(of: probe)).filter { place in
      base[place] == heir[place]
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

/// Has initializers of its own, as every subclass.
private final class HeirProbe: Reducer<Int, Probed> {}

private final class OperationProbe: Reducer<Int, Probed> {
  override func operation(
    for action: Probed, in store: Store<Int, Probed>
  ) -> ActionOperation<Int, Probed> {
    fatalError("OperationProbe is never asked.")
  }
}

private final class ApplyProbe: Reducer<Int, Probed> {
  override func apply(_ action: Probed, to store: Store<Int, Probed>) {
    fatalError("ApplyProbe is never asked.")
  }
}

private final class WaitForProbe: Reducer<Int, Probed> {
  override func waitFor(
    for action: Probed, in store: Store<Int, Probed>, declared: WaitFor
  ) -> WaitFor {
    fatalError("WaitForProbe is never asked.")
  }
}

/// The words of a class's metadata, among them the addresses of its methods.
private struct MethodTable: @unchecked Sendable {  // because metadata is constant
  private let words: UnsafePointer<UInt>
  /// Behind the header: kind, superclass, flags and sizes, descriptor, destroyer of variables.
  private static let headerCount = 7

  init(of type: AnyClass) {
    words = unsafeBitCast(type, to: UnsafePointer<UInt>.self)
  }

  subscript(place: Int) -> UInt { words[place] }

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

  /// The places behind the header at which a subclass has another word.
  func differences(from other: MethodTable) -> [Int] {
    guard count > Self.headerCount, other.count >= count else { return [] }
    return (Self.headerCount..<count).filter { self[$0] != other[$0] }
  }
}
