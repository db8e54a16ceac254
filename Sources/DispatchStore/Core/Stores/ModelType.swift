/// A model that can be made without arguments.
///
/// Only the initializers of `Store` that take no model require it. Any `Sendable` type can be a model.
public protocol ModelType: Sendable {
  /// Makes the model that a store starts with.
  init()
}
