/// The body of a handler that does more than reduce.
///
/// The cases say which kind of store it needs, and so where it can be used.
@usableFromInline
enum HandlerBody<Model: Sendable, Call>: Sendable {
  /// Needs the store itself, so it can't be in a `Part`.
  case store(@Sendable (HandlerStore<Model>) -> Call)
  /// Needs the model, or a part that is always present.
  case child(@Sendable (ChildHandlerStore<Model>) -> Call)
  /// Accepts any part.
  case optionalChild(@Sendable (OptionalChildHandlerStore<Model>) -> Call)

  /// Returns the call, bound to a store.
  @inlinable
  func bind(to store: HandlerStore<Model>) -> Call {
    switch self {
    case .store(let bind): bind(store)
    case .child(let bind): bind(ChildStore(store))
    case .optionalChild(let bind): bind(store.asOptionalChild)
    }
  }

  /// Returns this body for a model that contains this model, or nil if the body needs the store itself.
  func lifted<Whole: Sendable>(
    to path: any WritableKeyPath<Whole, Model> & Sendable
  ) -> HandlerBody<Whole, Call>? {
    switch self {
    case .store: nil
    case .child(let bind): .child { bind($0.child(path)) }
    case .optionalChild(let bind): .optionalChild { bind($0.child(path)) }
    }
  }

  /// Returns this body for a model that contains this model as an optional, or nil if the body can't handle absence.
  func lifted<Whole: Sendable>(
    toOptional path: any WritableKeyPath<Whole, Model?> & Sendable
  ) -> HandlerBody<Whole, Call>? {
    switch self {
    case .store, .child: nil
    case .optionalChild(let bind): .optionalChild { bind($0.child(unwrapping: path)) }
    }
  }
}
