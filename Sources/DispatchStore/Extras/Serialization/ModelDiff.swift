/// The differences between two states of a model; nothing is compared before you read them.
///
/// - Values are compared by `==` if their type has one. Otherwise they are compared field by field, by reflection.
/// - Objects are compared by `==` or by identity. They are never compared by fields, because other threads may be
///   changing these.
/// - In arrays, up to 200 insertions and removals are found. Beyond that, elements are compared by index.
///
/// Takes time about linear in the size of both models. An array, dictionary or set of `Equatable` elements that
/// shares its storage in both takes none.
public struct ModelDiff<Model: Sendable>: Sendable {
  /// The earlier state.
  public let old: Model
  /// The later state.
  public let new: Model

  /// Makes a difference, without comparing anything.
  public init(from old: Model, to new: Model) {
    self.old = old
    self.new = new
  }

  /// The differences, with fields in declaration order, and keys in the order of their descriptions.
  ///
  /// Computed at each read, on the reading thread.
  public var differences: [ModelDifference] {
    var comparison = ModelComparison()
    comparison.compare(old, new)
    return comparison.differences
  }
}

extension ModelDiff: CustomStringConvertible {
  /// A line for each difference.
  public var description: String {
    differences.map(\.description).joined(separator: "\n")
  }
}

extension Change {
  /// Returns the differences between an older state of the model and this change's model, like `ModelDiff`.
  public func differences(from old: Value) -> [ModelDifference] {
    ModelDiff(from: old, to: value).differences
  }
}

extension Store {
  /// Notifies an observer of each commit, with its differences, until its token ends.
  ///
  /// Behaves like `observe`. Differences are computed only when the observer reads them. The observer
  /// retains the model of the last commit, so each commit triggers copy-on-write of the model.
  public func observeDifferences(
    _ body: @escaping @Sendable (Change<Model, Action>, ModelDiff<Model>) -> Void
  ) -> ObserverToken {
    let latest = Locked<Model?>(nil)
    return observe(.model, initial: true) { change in
      // Only one thread notifies at a time, in commit order.
      var model: Model? = change.value
      latest.withLock { swap(&$0, &model) }
      if let model { body(change, ModelDiff(from: model, to: change.value)) }
    }
  }
}
