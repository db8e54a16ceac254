/// A reducer made of others with the same model and actions, each of which may decide whether observers are notified.
protocol ReducerOfReducers {
  /// Whether any of them overrides `shouldNotifyObservers(for:in:)`.
  var decidesNotification: Bool { get }
}

/// Checks a reducer that is a part of another.
enum PartCheck {
  /// Stops the program unless the reducer only reduces, since all other methods need a store of its types.
  ///
  /// - Parameter isOfWhole: Whether the reducer has the model and action of the whole, which then calls its
  ///   `shouldNotifyObservers`.
  static func check<Model, Action>(
    _ reducer: Reducer<Model, Action>, in whole: String, isOfWhole: Bool
  ) {
    guard ReducerOverrides.areKnown else { return }
    let overrides = ReducerOverrides(of: reducer)
    if overrides.operation { refuse(reducer, whole, "operation(for:in:)") }
    if overrides.apply { refuse(reducer, whole, "apply(_:to:)") }
    if overrides.waitFor { refuse(reducer, whole, "waitFor(for:in:declared:)") }
    if !isOfWhole, decidesNotification(reducer) {
      refuse(reducer, whole, "shouldNotifyObservers(for:in:)")
    }
    if !overrides.reduce {
      stopProgram(
        """
        \(type(of: reducer)) can't be a part of a \(whole): it does not override reduce(into:action:), the \
        one method of a part that is called. Override it.
        """)
    }
  }

  /// Whether the reducer, or one of its parts, overrides `shouldNotifyObservers(for:in:)`.
  static func decidesNotification(_ reducer: AnyObject) -> Bool {
    (reducer as? any ReducerOfReducers)?.decidesNotification
      ?? ReducerOverrides(of: reducer).shouldNotifyObservers
  }

  private static func refuse(_ reducer: AnyObject, _ whole: String, _ method: String) -> Never {
    stopProgram(
      """
      \(type(of: reducer)) can't be a part of a \(whole): it overrides \(method), which concerns a store, and \
      the parts of a reducer have one store together. Move that to a reducer that is no part, or to the \
      registration of the store, and override reduce(into:action:) alone.
      """)
  }
}
