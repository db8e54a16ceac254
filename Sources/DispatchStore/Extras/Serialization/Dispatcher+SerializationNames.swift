extension Dispatcher {
  /// The type of that name in the module.
  public typealias ModelDiff<Model: Sendable> = DispatchStore::ModelDiff<Model>
  /// The type of that name in the module.
  public typealias ModelDifference = DispatchStore::ModelDifference
  /// The type of that name in the module.
  public typealias PlainDecoder = DispatchStore::PlainDecoder
  /// The type of that name in the module.
  public typealias PlainEncoder = DispatchStore::PlainEncoder
  /// The type of that name in the module.
  public typealias PlainValue = DispatchStore::PlainValue
  /// The type of that name in the module.
  public typealias ValueDecoder = DispatchStore::ValueDecoder
  /// The type of that name in the module.
  public typealias ValueEncoder = DispatchStore::ValueEncoder
}
