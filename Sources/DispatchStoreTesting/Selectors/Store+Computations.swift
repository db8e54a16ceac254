public import DispatchStore

extension Store {
  /// Returns how often a selector's closure was called for `select` of this store, also through combined selectors.
  ///
  /// A test compares the number before and after. Selectors made from a key path or a closure are counted too. They
  /// read each version of the model in which they are used.
  public func computationCount<Value>(of selector: StateSelector<Model, Value>) -> Int {
    selectorComputations(of: selector)
  }
}
