/// The stores that a store waits for within a dispatch, its prerequisites.
///
/// The store waits for the prerequisites that run in the same dispatch. A cycle ends the dispatch with an error. So
/// does a declared identifier under which no store is registered, nor has been since the declaration. A prerequisite
/// that only a reducer's refinement names is left out if it is not registered, and reported as a warning.
public struct WaitFor: Hashable, Sendable {
  /// The identifiers of the prerequisites.
  public var storeIdentifiers: [String]
  /// Whether the store runs even if a prerequisite failed, was vetoed or was cancelled.
  ///
  /// Once any store of a dispatch has started, the stores that run regardless do run, even if the dispatch is
  /// cancelled meanwhile. If it is cancelled before, none of them runs.
  public var runsRegardless: Bool

  /// Waits for these stores, or for the stores with these identifiers.
  public init(_ elements: [any WaitForElement], runsRegardless: Bool = false) {
    storeIdentifiers = elements.map(\.waitForIdentifier)
    self.runsRegardless = runsRegardless
  }
}

/// An element of an array for `waitFor`: the identifier of a store, or the store.
public protocol WaitForElement {
  /// The identifier of the store.
  var waitForIdentifier: String { get }
}

extension String: WaitForElement {
  /// The string itself.
  public var waitForIdentifier: String { self }
}

extension Store: WaitForElement {
  /// The store's identifier.
  public var waitForIdentifier: String { identifier }
}

extension WaitFor: ExpressibleByArrayLiteral {
  /// Waits for these stores, or for the stores with these identifiers.
  ///
  /// The store run fails with `dependencyFailed` if one does not finish.
  public init(arrayLiteral elements: any WaitForElement...) {
    self.init(elements)
  }
}

extension WaitFor {
  /// A short description for messages.
  var summary: String {
    let stores = storeIdentifiers.map { "\"\($0)\"" }.joined(separator: ", ")
    return "waiting for \(stores.isEmpty ? "no store" : stores)"
      + (runsRegardless ? ", running regardless" : "")
  }
}
