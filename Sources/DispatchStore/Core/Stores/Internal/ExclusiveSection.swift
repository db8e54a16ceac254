/// A thread's exclusive access to a store's model, and the rules for code inside.
///
/// The rules are checked every time, not only if two threads happen to meet.
enum ExclusiveSection {
  static func check(
    _ store: StoreStorage, _ verb: @autoclosure () -> String, on thread: ThreadState
  ) {
    if let holder = thread.exclusive { refuse(store, verb(), holder) }
  }

  /// Stops the program if a thread waits for a dispatch inside an exclusive section.
  static func checkWait(on thread: ThreadState, at callSite: CallSite) {
    guard let holder = thread.exclusive else { return }
    stopProgram(
      """
      A dispatch can't be waited for (\(callSite)) inside the exclusive section of store \
      "\(holder.identifier)": it may need that store. Wait after updateModel has returned.
      """)
  }

  private static func refuse(_ store: StoreStorage, _ verb: String, _ holder: StoreStorage) -> Never
  {
    let advice =
      if store === holder {
        "Use the model that the closure gets, or do this before or after it."
      } else if ThreadState.current.atomic == nil {
        "Read the other store before: in apply(_:to:), or in the operation's block."
      } else {
        """
        In an atomic action you can also read model, withModel and version of the stores that came before: name them \
        in waitFor. Selections and snapshots are not possible there.
        """
      }
    stopProgram(
      """
      Store "\(store.identifier)" can't be \(verb) inside the exclusive section of store \
      "\(holder.identifier)": the closures of updateModel and withModel, and reduce(into:action:), \
      see their own model only. \(advice)
      """)
  }

  /// Stops the program for a `.sync` dispatch, which would run other stores' reducers inside this store's section.
  static func checkSynchronousDispatch(
    of action: any ActionType.Type, to identifiers: @autoclosure () -> [String],
    on thread: ThreadState, at callSite: CallSite
  ) {
    guard let holder = thread.exclusive else { return }
    let stores = identifiers().map { "\"\($0)\"" }.joined(separator: ", ")
    stopProgram(
      """
      An action of type \(action) can't be dispatched .sync (\(callSite)) to store \(stores) inside \
      the exclusive section of store "\(holder.identifier)". Dispatch it after updateModel has \
      returned, or in another mode.
      """)
  }
}
