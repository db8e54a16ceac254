import DispatchStore

/// Each public type under the name of the module's class, as in `DispatchStore.Store`.
enum NestedNames {
  struct Model: DispatchStore.ModelType {
    var value = 0
  }

  struct Action: DispatchStore.ActionType {}

  final class ModelReducer: DispatchStore.Reducer<Model, Action> {
    override func operation(
      for action: Action, in store: DispatchStore.Store<Model, Action>
    ) -> DispatchStore.ActionOperation<Model, Action> {
      DispatchStore.ActionOperation(action: action, store: store) {
        (operation: DispatchStore.RunningOperation<Model, Action>, _, _) in
        operation.updateModel { $0.value += 1 }
        operation.finish()
      }
    }
  }

  final class Silent: DispatchStore.Middleware {
    func willDispatch(
      transaction: DispatchStore.MiddlewareContext, action: DispatchStore.AnyAction,
      in store: DispatchStore.AnyStore
    ) -> DispatchStore.MiddlewareVerdict { .pass }

    func didDispatch(
      transaction: DispatchStore.MiddlewareContext, action: DispatchStore.AnyAction,
      in store: DispatchStore.AnyStore
    ) {}
  }

  static let pairs: [(nested: Any.Type, plain: Any.Type)] = [
    (DispatchStore.ActionOperation<Model, Action>.self, ActionOperation<Model, Action>.self),
    (DispatchStore.Reducer<Model, Action>.self, Reducer<Model, Action>.self),
    (DispatchStore.RunningOperation<Model, Action>.self, RunningOperation<Model, Action>.self),
    (DispatchStore.Store<Model, Action>.self, Store<Model, Action>.self),
    (DispatchStore.StoreChange<Model, Action>.self, StoreChange<Model, Action>.self),
    (DispatchStore.StoreCommit<Action>.self, StoreCommit<Action>.self),
    (DispatchStore.CoalescedChange<Model, Action>.self, CoalescedChange<Model, Action>.self),
    ((any DispatchStore.ActionType).self, (any ActionType).self),
    ((any DispatchStore.Middleware).self, (any Middleware).self),
    ((any DispatchStore.ModelType).self, (any ModelType).self),
    ((any DispatchStore.StoreType).self, (any StoreType).self),
    (DispatchStore.AnyAction.self, AnyAction.self),
    (DispatchStore.AnyStore.self, AnyStore.self),
    (DispatchStore.CallSite.self, CallSite.self),
    (DispatchStore.CarriedTaskLocal.self, CarriedTaskLocal.self),
    (DispatchStore.DispatchError.self, DispatchError.self),
    (DispatchStore.ElementChange<Int, Action>.self, ElementChange<Int, Action>.self),
    (DispatchStore.KeyedChanges<Int, Int>.self, KeyedChanges<Int, Int>.self),
    ((any DispatchStore.KeyedCollection).self, (any KeyedCollection).self),
    (DispatchStore.KeyedDelta<Int, Int>.self, KeyedDelta<Int, Int>.self),
    (DispatchStore.TrackedDictionary<Int, Int>.self, TrackedDictionary<Int, Int>.self),
    (DispatchStore.TrackingCheckpoint.self, TrackingCheckpoint.self),
    (DispatchStore.DispatchHandle.self, DispatchHandle.self),
    (DispatchStore.DispatchIncident.self, DispatchIncident.self),
    (DispatchStore.DispatchOptions.self, DispatchOptions.self),
    (DispatchStore.DispatchResult.self, DispatchResult.self),
    (DispatchStore.MiddlewareContext.self, MiddlewareContext.self),
    (DispatchStore.LoggerMiddleware.self, LoggerMiddleware.self),
    (DispatchStore.MainDelivery.self, MainDelivery.self),
    (DispatchStore.MiddlewareVerdict.self, MiddlewareVerdict.self),
    (DispatchStore.Mode.self, Dispatcher.Mode.self),
    (DispatchStore.ObserverDelivery.self, ObserverDelivery.self),
    (DispatchStore.ObserverToken.self, ObserverToken.self),
    (DispatchStore.StoreOutcome.self, StoreOutcome.self),
    (DispatchStore.StoreOwnership.self, StoreOwnership.self),
    (DispatchStore.StoreResult.self, StoreResult.self),
    (DispatchStore.TransactionID.self, TransactionID.self),
    (DispatchStore.Veto.self, Veto.self),
    (DispatchStore.WaitFor.self, WaitFor.self),
  ]

  static func run() -> Int {
    let dispatcher = DispatchStore(name: "nested")
    dispatcher.register(middleware: Silent())
    let store = dispatcher.register(store: DispatchStore.Store(reducer: ModelReducer()))
    dispatcher.dispatch(action: Action(), mode: DispatchStore.Mode.sync)
    return store.model.value
  }
}
