public import DispatchStore

extension Store {
  /// How often the closure of a selector was called for `select` of this store, also through others that are
  /// combined from it.
  ///
  /// A test compares the number before and after. It is that of a selector made from a key path or a closure, too;
  /// these read each version of the model in which they are used.
  public func computationCount<Value>(of selector: Selector<Model, Value>) -> Int {
    selectorComputations(of: selector)
  }
}
