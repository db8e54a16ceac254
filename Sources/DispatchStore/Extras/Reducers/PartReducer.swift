/// Has a reducer for a part of a model handle the actions for that part.
///
///     PartReducer(\.cart, action: { if case .cart(let action) = $0 { action } else { nil } }, reducer: CartReducer())
///
/// The part is changed in place, in the reduction of the whole. The part's reducer only reduces: the initializer
/// stops the program, naming the method, if it overrides any method but `reduce(into:action:)`. The reduction changes
/// nothing if the action is not for the part, or if the part's reducer calls `unchanged()`.
public final class PartReducer<
  Model: Sendable, Action: ActionType, Part: Sendable, PartAction: ActionType
>: Reducer<Model, Action> {
  private let body: PartsBody

  @usableFromInline
  init(_ reducer: Reducer<Part, PartAction>, body: @escaping PartsBody) {
    PartCheck.check(reducer, in: "PartReducer", isOfWhole: false)
    self.body = body
  }

  /// Makes the reducer; inlined, so that the closure is compiled for the program's types.
  @inlinable
  convenience init(
    _ path: PartPath<Part>, _ extract: @escaping @Sendable (Action) -> PartAction?,
    _ reducer: Reducer<Part, PartAction>
  ) {
    nonisolated(unsafe) let part = reducer  // safe: reducers hold no mutable state
    self.init(reducer) { model, action, reduction in
      guard let action = extract(action) else { return }
      let isFound = try withUnsafeMutablePointer(to: &model) { model in
        try reduction.reduce(action, by: part) { path.modify(UnsafeMutableRawPointer(model), $0) }
      }
      if !isFound { throw DispatchError.partMissing(path.name()) }
    }
  }

  /// Makes a reducer for a part by key path.
  ///
  /// - Parameters:
  ///   - path: The part.
  ///   - extract: Returns the part's action; nil if the action is not for the part.
  ///   - reducer: Reduces the part; nothing else may use it afterwards.
  @inlinable
  public convenience init(
    _ path: any WritableKeyPath<Model, Part> & Sendable,
    action extract: @escaping @Sendable (Action) -> PartAction?,
    reducer: Reducer<Part, PartAction>
  ) {
    self.init(.property(path), extract, reducer)
  }

  /// Makes a reducer for the value of an optional.
  ///
  /// An action for the value while it is nil fails with `partMissing`, and changes nothing. To handle nil too, use a
  /// `PartReducer` by key path for the optional itself.
  ///
  /// - Parameters:
  ///   - path: The optional.
  ///   - extract: Returns the part's action; nil if the action is not for the part.
  ///   - reducer: Reduces the part; nothing else may use it afterwards.
  @inlinable
  public convenience init(
    unwrapping path: any WritableKeyPath<Model, Part?> & Sendable,
    action extract: @escaping @Sendable (Action) -> PartAction?,
    reducer: Reducer<Part, PartAction>
  ) {
    self.init(.unwrapping(path), extract, reducer)
  }

  /// Makes a reducer for the payload of an enumeration's case.
  ///
  /// An action for the payload while the model is another case fails with `partMissing`, and changes nothing. A
  /// reduction triggers copy-on-write of the payload, because the model retains it meanwhile.
  ///
  /// - Parameters:
  ///   - extractCase: Returns the payload; nil for other cases.
  ///   - embed: Makes the case from its payload.
  ///   - extract: Returns the part's action; nil if the action is not for the part.
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

  /// Calls the part's reducer, if the action is for the part.
  public override func reduce(into model: inout Model, action: Action) throws {
    try reduceParts { try body(&model, action, &$0) }
  }
}
