// Children for the cases of an enumeration.
extension ParentStore {
  /// Makes a child for the payload of an enumeration's case.
  ///
  /// A change triggers copy-on-write of the payload, because the model retains it meanwhile.
  ///
  /// - Parameters:
  ///   - extract: Returns the payload; nil for other cases. Called in the exclusive section.
  ///   - embed: Makes the case from its payload. Called in the exclusive section.
  @inlinable
  public func child<Value: Sendable>(
    extract: @escaping @Sendable (Model) -> Value?, embed: @escaping @Sendable (Value) -> Model
  ) -> OptionalChildStore<Value, Action> {
    optionalChild(.case(extract: extract, embed: embed))
  }
}
