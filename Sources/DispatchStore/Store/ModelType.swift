/// A model that can be made from nothing.
///
/// Only the initializers of `Store` that take no model require it; any `Sendable` type can be a
/// model.
public protocol ModelType: Sendable {
  /// The model that a store starts with.
  init()
}
