/// The stores that a store waits for within a dispatch, its prerequisites.
///
/// The store waits for those of them that run in the same dispatch. An identifier under which no store
/// was ever registered ends the dispatch with an error, and so does a cycle.
public struct WaitFor: Hashable, Sendable {
  /// The identifiers of the prerequisites.
  public var storeIdentifiers: [String]
  /// Whether the store runs also where a prerequisite failed, was vetoed or cancelled.
  public var runsRegardless: Bool

  /// Waits for the stores with these identifiers.
  public init(_ storeIdentifiers: [String], runsRegardless: Bool = false) {
    self.storeIdentifiers = storeIdentifiers
    self.runsRegardless = runsRegardless
  }

  /// Waits for these stores.
  public init(_ stores: AnyStore..., runsRegardless: Bool = false) {
    self.init(stores.map(\.identifier), runsRegardless: runsRegardless)
  }

  /// Waits for no store.
  public static let none = WaitFor([])
}

extension WaitFor: ExpressibleByArrayLiteral {
  /// Waits for the stores with these identifiers; the store run fails with `dependencyFailed` if one does not finish.
  public init(arrayLiteral elements: String...) {
    self.init(elements)
  }
}

extension WaitFor {
  /// Whether both are equal; cheaper than `==` where both are empty.
  func isSame(as other: WaitFor) -> Bool {
    runsRegardless == other.runsRegardless
      && (storeIdentifiers.isEmpty
        ? other.storeIdentifiers.isEmpty : storeIdentifiers == other.storeIdentifiers)
  }
}
