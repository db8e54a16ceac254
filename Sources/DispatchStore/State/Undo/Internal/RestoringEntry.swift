/// The entry of a store for one dispatch that sets its model, whatever actions the store answers.
///
/// Such a dispatch is atomic, and goes along a route that was made for it alone (`Dispatcher.route(to:of:isPartOfPause:on:)`).
final class RestoringEntry<Model: Sendable, Action: ActionType>: TypedStoreEntry<Model, Action>,
  @unchecked Sendable
{
  // because its superclass is, and this is constant
  /// The action that observers get with the change, and with their own changes of the store meanwhile.
  private let notedAction: Action?

  /// - Parameters:
  ///   - action: The action that observers get, if the store has it, even if a middleware has passed another one.
  ///   - index: The place among the stores of the dispatch.
  ///   - change: Changes the model, in the store's exclusive section; returns false if it has changed nothing.
  init(
    _ store: Store<Model, Action>, of actionType: any ActionType.Type, noting action: AnyAction?,
    at index: Int, _ change: @escaping @Sendable (UnsafeMutablePointer<Model>) -> Bool
  ) {
    notedAction = action.flatMap { type(of: store.reducer).typed($0) }
    let storage = store.storage
    let none = ObjectIdentifier(storage)
    super.init(
      store,
      StoreRegistration(
        sequence: UInt64(index), waitFor: [], ownership: .strong,
        endGate: storage.presentKeeper?.gate),
      actionType: actionType, overrides: ReducerOverrides(.reduction),
      makeCalls: { _ in
        ReducerCalls(
          on: storage,
          reduce: { _, thread in
            guard storage.lockIfUnobserved(on: thread) else { return nil }
            if !change(storage.model) { thread.noteUnchanged(by: none) }
            storage.unlockCommitted(by: none, on: thread)
            return .finished
          })
      })
  }

  // The action at the address has another type than the store's, so it is not read.
  override func action<Noted: ActionType>(
    at address: UnsafeRawPointer, as type: Noted.Type
  ) -> Noted? {
    notedAction as? Noted
  }
}

extension Dispatcher {
  /// Sets the models of several stores in one atomic action.
  ///
  /// - Parameters:
  ///   - options: The options of the dispatch.
  ///   - isPartOfPause: Whether it runs during a pause, and calls no hook.
  func restore<Restoration: AtomicAction>(
    _ entries: [StoreEntry], by action: Restoration, mode: Mode,
    options: DispatchOptions = DispatchOptions(), isPartOfPause: Bool = false, _ callSite: CallSite
  ) -> DispatchHandle {
    let thread = ThreadState.current(by: threadKey)
    checkWorld(on: thread, at: callSite)
    if thread.isInSection {
      stopProgram(
        """
        \(action) was asked for inside the exclusive section of store "\(thread.exclusive?.identifier ?? "")" (\(callSite)). \
        Ask for it outside of reducers and updateModel.
        """)
    }
    return enqueue(
      action,
      along: route(
        to: entries, of: Restoration.self, isPartOfPause: isPartOfPause, on: thread),
      to: nil, mode, options, nil, callSite, on: thread)
  }
}
