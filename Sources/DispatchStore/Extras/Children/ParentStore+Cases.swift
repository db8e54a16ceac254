// Children for the cases of an enumeration.
extension ParentStore {
  /// Makes a child for the payload of an enumeration's case.
  ///
  /// A change triggers copy-on-write of the payload, because the model retains it meanwhile.
  ///
  /// - Parameters:
  ///   - extract: Returns the payload; nil for other cases. Called in the exclusive section.
  ///   - embed: Makes the case from its payload. Called in the exclusive section.
  ///   - action: Converts the payload's action to the parent's action. Called at each dispatch.
  @inlinable
  public func child<Value: Sendable, Local: ActionType>(
    extract: @escaping @Sendable (Model) -> Value?, embed: @escaping @Sendable (Value) -> Model,
    action: @escaping @Sendable (Local) -> Action
  ) -> OptionalChildStore<Value, Local> {
    optionalChild(.case(extract: extract, embed: embed), action)
  }

  /// Makes a child for the payload of an enumeration's case, with the parent's actions.
  @inlinable
  public func child<Value: Sendable>(
    extract: @escaping @Sendable (Model) -> Value?, embed: @escaping @Sendable (Value) -> Model
  ) -> OptionalChildStore<Value, Action> {
    optionalChild(.case(extract: extract, embed: embed))
  }
}
