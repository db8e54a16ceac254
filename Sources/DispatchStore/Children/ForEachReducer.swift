/// Has a reducer for an element of a collection handle the actions that are for an element, by its identity.
///
///     ForEachReducer(
///       \.orders,
///       action: { if case .order(let id, let action) = $0 { (id, action) } else { nil } },
///       reducer: OrderReducer())
///
/// It changes the element in place, in the reduction of the whole. An action for an element that is not there
/// fails with `partMissing`, and changes nothing: where another reducer removes elements, put it behind this one. In
/// all else as `PartReducer`.
public final class ForEachReducer<
  Model: Sendable, Action: ActionType, ID: Hashable & Sendable, Element: Sendable,
  ElementAction: ActionType
>: Reducer<Model, Action> {
  private let modify: @Sendable (inout Model, ID, (inout Element) -> Void) -> Bool
  private let name: @Sendable (ID) -> String
  private let extract: @Sendable (Action) -> (ID, ElementAction)?
  private let reducer: Reducer<Element, ElementAction>

  private init(
    _ modify: @escaping @Sendable (inout Model, ID, (inout Element) -> Void) -> Bool,
    _ name: @escaping @Sendable (ID) -> String,
    _ extract: @escaping @Sendable (Action) -> (ID, ElementAction)?,
    _ reducer: Reducer<Element, ElementAction>
  ) {
    PartCheck.check(reducer, in: "ForEachReducer", isOfWhole: false)
    self.modify = modify
    self.name = name
    self.extract = extract
    self.reducer = reducer
  }

  /// For the elements of an array; finding one takes time linear in the array.
  ///
  /// - Parameters:
  ///   - path: The array, or another collection with integers as indices. Identities are unique in it.
  ///   - extract: The element's identity and its action in the whole's; nil for an action that is not for an element.
  ///   - reducer: Reduces an element; nothing else may use it afterwards.
  public convenience init<Elements: MutableCollection & RandomAccessCollection & Sendable>(
    _ path: any WritableKeyPath<Model, Elements> & Sendable,
    action extract: @escaping @Sendable (Action) -> (ID, ElementAction)?,
    reducer: Reducer<Element, ElementAction>
  )
  where
    Elements.Element == Element, Elements.Index == Int, Element: Identifiable, Element.ID == ID
  {
    self.init(
      { $0[keyPath: path].modifyElement($1, near: nil, $2) },
      { PartName.element(id: $0, of: path) }, extract, reducer)
  }

  /// For the values of a dictionary, by key.
  ///
  /// - Parameters:
  ///   - path: The dictionary.
  ///   - extract: The key and the value's action in the whole's; nil for an action that is not for a value.
  ///   - reducer: Reduces a value; nothing else may use it afterwards.
  public convenience init(
    _ path: any WritableKeyPath<Model, [ID: Element]> & Sendable,
    action extract: @escaping @Sendable (Action) -> (ID, ElementAction)?,
    reducer: Reducer<Element, ElementAction>
  ) {
    self.init(
      { $0[keyPath: path][$1].modify($2) }, { PartName.value(key: $0, of: path) }, extract, reducer)
  }

  /// Has the elements' reducer reduce the element that the action is for.
  public override func reduce(into model: inout Model, action: Action) throws {
    var reduction = PartialReduction()
    defer { if reduction.isUnchanged { noChange() } }
    guard let (id, action) = extract(action) else { return }
    var failure: (any Error)?
    let isFound = modify(&model, id) { element in
      do {
        try reduction.reduce(&element, action, by: reducer)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    if !isFound { throw DispatchError.partMissing(name(id), of: ExclusiveSection.holder) }
  }
}
