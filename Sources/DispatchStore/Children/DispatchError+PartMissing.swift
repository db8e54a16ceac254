extension DispatchError.Code {
  /// A part of a model that was to be changed is gone, or was never there.
  ///
  /// By a child of the store, or by a reducer for that part. The model is as it was.
  public static let partMissing = DispatchError.Code(description: "partMissing")
}

extension DispatchError {
  /// A part was not found in the model of a store; of no store where a reducer is called for a model by itself.
  static func partMissing(_ name: String, of storeIdentifier: String?) -> DispatchError {
    let place = storeIdentifier.map { "in the model of store \"\($0)\"" } ?? "in the model"
    return DispatchError(
      code: .partMissing,
      message: """
        There is no such part \(place): \(name). It was removed, or has not been added yet; nothing was changed. \
        Let the reducer that adds it run before the reducer of the part, and the one that removes it after.
        """,
      storeIdentifiers: storeIdentifier.map { [$0] } ?? [])
  }

  /// The same in the exclusive section of the store.
  @usableFromInline
  static func partMissing(_ name: String) -> DispatchError {
    partMissing(name, of: ThreadState.current.exclusive?.identifier)
  }
}
