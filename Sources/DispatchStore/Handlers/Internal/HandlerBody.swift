/// What a handler does that does more than reduce, by what it needs of the store: that decides where it can be used.
@usableFromInline
enum HandlerBody<Model: Sendable, Call>: Sendable {
  /// The store itself: in no part.
  case store(@Sendable (HandlerStore<Model>) -> Call)
  /// The model, or a part that is always there.
  case child(@Sendable (ChildHandlerStore<Model>) -> Call)
  /// Any part.
  case optionalChild(@Sendable (OptionalChildHandlerStore<Model>) -> Call)

  /// What is called for a store.
  @inlinable
  func bind(to store: HandlerStore<Model>) -> Call {
    switch self {
    case .store(let bind): bind(store)
    case .child(let bind): bind(ChildStore(store))
    case .optionalChild(let bind): bind(store.asOptionalChild)
    }
  }

  /// The same for a model of which this is a part; nil where it can't be used there.
  func lifted<Whole: Sendable>(
    to path: any WritableKeyPath<Whole, Model> & Sendable
  ) -> HandlerBody<Whole, Call>? {
    switch self {
    case .store: nil
    case .child(let bind): .child { bind($0.child(path)) }
    case .optionalChild(let bind): .optionalChild { bind($0.child(path)) }
    }
  }

  /// The same for one that an optional holds.
  func lifted<Whole: Sendable>(
    toOptional path: any WritableKeyPath<Whole, Model?> & Sendable
  ) -> HandlerBody<Whole, Call>? {
    switch self {
    case .store, .child: nil
    case .optionalChild(let bind): .optionalChild { bind($0.child(unwrapping: path)) }
    }
  }
}
