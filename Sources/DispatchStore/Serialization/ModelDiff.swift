/// What differs between two states of a model; nothing is compared before it is read.
///
/// Values are compared by `==` where their type has one, else field by field, by reflection; objects by `==` or by
/// identity, never by their fields, which other threads may be changing. Time is about linear in the size of both
/// models. An array, dictionary or set of `Equatable` elements that shares its storage in both takes none. Of
/// arrays, it finds up to 200 insertions and removals, and compares by index beyond that.
public struct ModelDiff<Model: Sendable>: Sendable {
  /// The earlier state.
  public let old: Model
  /// The later state.
  public let new: Model

  /// Makes one; takes no time.
  public init(from old: Model, to new: Model) {
    self.old = old
    self.new = new
  }

  /// The places at which they differ: fields in the order of their declarations, keys by their descriptions.
  ///
  /// Computed each time when it is read, on the thread that reads it.
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

extension StoreChange {
  /// What differs between an older state of the model and this change's; computed here, as `ModelDiff` does.
  public func differences(from old: Model) -> [ModelDifference] {
    ModelDiff(from: old, to: model).differences
  }
}

extension Interception {
  /// What the action has changed, as `ModelDiff` computes it; each time when it is read.
  public var differences: [ModelDifference] {
    oldVersion == newVersion ? [] : ModelDiff(from: oldModel, to: newModel).differences
  }
}

extension Store {
  /// Notifies an observer of each commit, with what that changed, until its token ends.
  ///
  /// As `observe(initial:_:)`. The difference is computed only where the observer reads it. The observer keeps the
  /// model of the last commit, so that each commit copies what the model stores by copy-on-write.
  public func observeDifferences(
    _ body: @escaping @Sendable (StoreChange<Model, Action>, ModelDiff<Model>) -> Void
  ) -> ObserverToken {
    let latest = Locked<Model?>(nil)
    return observe(initial: true) { change in
      // One thread notifies at a time, in commit order.
      var model: Model? = change.model
      latest.withLock { swap(&$0, &model) }
      if let model { body(change, ModelDiff(from: model, to: change.model)) }
    }
  }
}
