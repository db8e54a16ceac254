/// Has a reducer for an element of a collection handle the actions for an element, by its identity.
///
///     ForEachReducer(
///       \.orders,
///       action: { if case .order(let id, let action) = $0 { (id, action) } else { nil } },
///       reducer: OrderReducer())
///
/// The element is changed in place, in the reduction of the whole. An action for a missing element fails with
/// `partMissing` and changes nothing. If another reducer removes elements, put it after this one. Otherwise behaves
/// like `PartReducer`.
public final class ForEachReducer<
  Model: Sendable, Action: ActionType, ID: Hashable & Sendable, Element: Sendable,
  ElementAction: ActionType
>: Reducer<Model, Action> {
  private let body: PartsBody

  @usableFromInline
  init(_ reducer: Reducer<Element, ElementAction>, body: @escaping PartsBody) {
    PartCheck.check(reducer, in: "ForEachReducer", isOfWhole: false)
    self.body = body
  }

  /// Makes the reducer; inlined, so that the closure is compiled for the program's types.
  @inlinable
  convenience init<Elements>(
    _ elements: PartPath<Elements>, _ extract: @escaping @Sendable (Action) -> (ID, ElementAction)?,
    _ reducer: Reducer<Element, ElementAction>, name: @escaping @Sendable (ID) -> String,
    modify:
      @escaping @Sendable (inout Elements, ID, (UnsafeMutablePointer<Element>) -> Void) -> Bool
  ) {
    nonisolated(unsafe) let part = reducer  // safe: reducers hold no mutable state
    self.init(reducer) { model, action, reduction in
      guard let (id, action) = extract(action) else { return }
      let isFound = try withUnsafeMutablePointer(to: &model) { model in
        try reduction.reduce(action, by: part) { body in
          var isFound = false
          _ = elements.modify(UnsafeMutableRawPointer(model)) {
            isFound = modify(&$0.pointee, id, body)
          }
          return isFound
        }
      }
      if !isFound { throw DispatchError.partMissing(name(id)) }
    }
  }

  /// Makes a reducer for the elements of an array, in which each is found in time linear in its distance from the
  /// last.
  ///
  /// - Parameters:
  ///   - path: The array, or another collection with integers as indices. Identities are unique in it.
  ///   - extract: Returns the element's identity and its action; nil if the action is not for an element.
  ///   - reducer: Reduces an element; nothing else may use it afterwards.
  @inlinable
  public convenience init<Elements: MutableCollection & RandomAccessCollection & Sendable>(
    _ path: any WritableKeyPath<Model, Elements> & Sendable,
    action extract: @escaping @Sendable (Action) -> (ID, ElementAction)?,
    reducer: Reducer<Element, ElementAction>
  )
  where
    Elements.Element == Element, Elements.Index == Int, Element: Identifiable, Element.ID == ID
  {
    let hint = IndexHint()
    self.init(
      PartPath<Elements>.property(path), extract, reducer,
      name: { "the element with id \($0) of \(path)" },
      modify: { $0.modifyElement($1, near: hint, $2) })
  }

  /// Makes a reducer for the values of a dictionary, by key.
  ///
  /// - Parameters:
  ///   - path: The dictionary.
  ///   - extract: Returns the key and the value's action; nil if the action is not for a value.
  ///   - reducer: Reduces a value; nothing else may use it afterwards.
  @inlinable
  public convenience init(
    _ path: any WritableKeyPath<Model, [ID: Element]> & Sendable,
    action extract: @escaping @Sendable (Action) -> (ID, ElementAction)?,
    reducer: Reducer<Element, ElementAction>
  ) {
    self.init(
      PartPath<[ID: Element]>.property(path), extract, reducer,
      name: { "the value for key \($0) of \(path)" },
      modify: { $0.modifyValue(for: $1, $2) })
  }

  /// Calls the element reducer for the element that the action names.
  public override func reduce(into model: inout Model, action: Action) throws {
    try reduceParts { try body(&model, action, &$0) }
  }
}
