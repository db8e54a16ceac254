public import DispatchStore

extension MockStore {
  /// Replaces the value of a selector, until `resetSelectors()`.
  ///
  /// `select` of the mock's store, and selectors that are combined from this one return the value,
  /// whatever the model is. Observers, and selectors that are called with a model, do not. Other stores are not
  /// affected.
  public func override<Value>(_ selector: StateSelector<Model, Value>, with value: Value) {
    store.override(selector, with: value)
  }

  /// Removes all overrides: selectors depend on the model again.
  public func resetSelectors() {
    store.removeSelectorOverrides()
  }
}
