/// Has a reducer for a part of a model handle the actions that are for the part.
///
///     PartReducer(\.cart, action: { if case .cart(let action) = $0 { action } else { nil } }, reducer: CartReducer())
///
/// It changes the part in place, in the reduction of the whole. Its reducer only reduces: one that overrides
/// another method than `reduce(into:action:)` is refused where this is made, by a precondition that names it. An
/// action that is for no part, or of which the part's reducer says `noChange()`, changes nothing.
public final class PartReducer<
  Model: Sendable, Action: ActionType, Part: Sendable, PartAction: ActionType
>: Reducer<Model, Action> {
  @usableFromInline
  typealias Body = @Sendable (inout Model, Action, inout PartialReduction) throws -> Void
  private let body: Body

  @usableFromInline
  init(_ reducer: Reducer<Part, PartAction>, body: @escaping Body) {
    PartCheck.check(reducer, in: "PartReducer", isOfWhole: false)
    self.body = body
  }

  /// Inlined, so that the closure is compiled for the program's types.
  @inlinable
  convenience init(
    _ path: PartPath<Part>, _ extract: @escaping @Sendable (Action) -> PartAction?,
    _ reducer: Reducer<Part, PartAction>
  ) {
    nonisolated(unsafe) let part = reducer  // which holds no mutable state
    self.init(reducer) { model, action, reduction in
      guard let action = extract(action) else { return }
      let isFound = try withUnsafeMutablePointer(to: &model) { model in
        try reduction.reduce(action, by: part) { path.modify(UnsafeMutableRawPointer(model), $0) }
      }
      if !isFound { throw DispatchError.partMissing(path.name()) }
    }
  }

  /// For a part by key path.
  ///
  /// - Parameters:
  ///   - path: The part.
  ///   - extract: The part's action in the whole's; nil for an action that is not for the part.
  ///   - reducer: Reduces the part; nothing else may use it afterwards.
  @inlinable
  public convenience init(
    _ path: any WritableKeyPath<Model, Part> & Sendable,
    action extract: @escaping @Sendable (Action) -> PartAction?,
    reducer: Reducer<Part, PartAction>
  ) {
    self.init(.property(path), extract, reducer)
  }

  /// For what an optional holds.
  ///
  /// An action for it while it is nil fails with `partMissing`, and changes nothing. A reducer of the optional itself
  /// (`PartReducer` by key path) handles that, too.
  ///
  /// - Parameters:
  ///   - path: The optional.
  ///   - extract: The part's action in the whole's; nil for an action that is not for the part.
  ///   - reducer: Reduces the part; nothing else may use it afterwards.
  @inlinable
  public convenience init(
    unwrapping path: any WritableKeyPath<Model, Part?> & Sendable,
    action extract: @escaping @Sendable (Action) -> PartAction?,
    reducer: Reducer<Part, PartAction>
  ) {
    self.init(.unwrapping(path), extract, reducer)
  }

  /// For what a case of an enumeration holds.
  ///
  /// An action for it while the model is another case fails with `partMissing`, and changes nothing. A reduction
  /// copies what the case stores by copy-on-write, since the model holds it meanwhile.
  ///
  /// - Parameters:
  ///   - extractCase: What the case holds; nil for other cases.
  ///   - embed: The case with what it holds.
  ///   - extract: The part's action in the whole's; nil for an action that is not for the part.
  ///   - reducer: Reduces the part; nothing else may use it afterwards.
  @inlinable
  public convenience init(
    extract extractCase: @escaping @Sendable (Model) -> Part?,
    embed: @escaping @Sendable (Part) -> Model,
    action extract: @escaping @Sendable (Action) -> PartAction?,
    reducer: Reducer<Part, PartAction>
  ) {
    self.init(.case(extract: extractCase, embed: embed), extract, reducer)
  }

  /// Has the part's reducer reduce the part, where the action is for it.
  public override func reduce(into model: inout Model, action: Action) throws {
    try reduceParts { try body(&model, action, &$0) }
  }
}
