extension DispatchError.Code {
  /// The part of a model to be changed is missing: it was removed, or never added.
  ///
  /// A child of the store, or a reducer for that part, reports this error. The model is unchanged.
  public static let partMissing = DispatchError.Code(description: "partMissing")
}

extension DispatchError {
  /// Makes the error for a missing part; the identifier is nil if a reducer was called without a store.
  static func partMissing(
    _ name: String, of storeIdentifier: String?, advice: String = ""
  ) -> DispatchError {
    let place = storeIdentifier.map { "in the model of store \"\($0)\"" } ?? "in the model"
    return DispatchError(
      code: .partMissing,
      message: """
        There is no such part \(place): \(name). It was removed, or has not been added yet; nothing was \
        changed.\(advice)
        """,
      storeIdentifiers: storeIdentifier.map { [$0] } ?? [])
  }

  /// Makes a reducer's error for a missing part, with the store whose exclusive section the current thread is in.
  @usableFromInline
  static func partMissing(_ name: String) -> DispatchError {
    partMissing(
      name, of: ThreadState.current.exclusive?.identifier,
      advice: """
         Let the reducer that adds it run before the reducer of the part, and the one that removes it after.
        """)
  }
}
