/// The stores that a store waits for, and whether it runs however those end.
///
/// Of the stores named, those that take part in the same dispatch are waited for. An identifier
/// under which no store was ever registered ends the dispatch with an error, and so does a cycle.
public struct WaitFor: Hashable, Sendable {
  /// The identifiers of the stores waited for.
  public var storeIdentifiers: [String]
  /// Whether the store runs also where one that it waits for failed, was vetoed or cancelled.
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
  /// Waits for the stores with these identifiers, and fails with `dependencyFailed` after them.
  public init(arrayLiteral elements: String...) {
    self.init(elements)
  }
}

extension WaitFor {
  /// Whether it says the same, looking at the same storage first.
  func isSame(as other: WaitFor) -> Bool {
    runsRegardless == other.runsRegardless
      && (storeIdentifiers.isEmpty
        ? other.storeIdentifiers.isEmpty : storeIdentifiers == other.storeIdentifiers)
  }
}
