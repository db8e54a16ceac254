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
      transaction: DispatchStore.DispatchInfo, action: DispatchStore.AnyAction,
      in store: DispatchStore.AnyStore
    ) -> DispatchStore.MiddlewareVerdict { .pass }

    func didDispatch(
      transaction: DispatchStore.StoreRunInfo, action: DispatchStore.AnyAction,
      in store: DispatchStore.AnyStore
    ) {}
  }

  enum Template: DispatchStore.ActionTemplate {}

  struct Gotten: DispatchStore.GettersProviding {
    enum Getters {}
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
    (DispatchStore.Effect.self, Effect.self),
    (DispatchStore.EffectContext.self, EffectContext.self),
    (DispatchStore.EffectPolicy.self, EffectPolicy.self),
    (DispatchStore.EffectRegistration.self, EffectRegistration.self),
    (DispatchStore.EffectRestart.self, EffectRestart.self),
    (DispatchStore.EffectToken.self, EffectToken.self),
    (DispatchStore.ElementChange<Int, Action>.self, ElementChange<Int, Action>.self),
    (DispatchStore.KeyedChanges<Int, Int>.self, KeyedChanges<Int, Int>.self),
    ((any DispatchStore.KeyedCollection).self, (any KeyedCollection).self),
    (DispatchStore.KeyedDelta<Int, Int>.self, KeyedDelta<Int, Int>.self),
    (DispatchStore.TrackedDictionary<Int, Int>.self, TrackedDictionary<Int, Int>.self),
    (DispatchStore.TrackingCheckpoint.self, TrackingCheckpoint.self),
    (DispatchStore.DispatchHandle.self, DispatchHandle.self),
    (DispatchStore.DispatchWarning.self, DispatchWarning.self),
    (DispatchStore.DispatchOptions.self, DispatchOptions.self),
    (DispatchStore.DispatchResult.self, DispatchResult.self),
    (DispatchStore.LoggerMiddleware.self, LoggerMiddleware.self),
    (DispatchStore.MainDelivery.self, MainDelivery.self),
    (DispatchStore.MiddlewareVerdict.self, MiddlewareVerdict.self),
    (DispatchStore.Mode.self, Dispatcher.Mode.self),
    (DispatchStore.ObserverDelivery.self, ObserverDelivery.self),
    (DispatchStore.ObserverToken.self, ObserverToken.self),
    (DispatchStore.StoreOutcome.self, StoreOutcome.self),
    (DispatchStore.StoreOwnership.self, StoreOwnership.self),
    (DispatchStore.StoreResult.self, StoreResult.self),
    (DispatchStore.DispatchID.self, DispatchID.self),
    (DispatchStore.Veto.self, Veto.self),
    (DispatchStore.WaitFor.self, WaitFor.self),
    (DispatchStore.ActionCoder.self, ActionCoder.self),
    (DispatchStore.ActionCodingError.self, ActionCodingError.self),
    (DispatchStore.DispatchInfo.self, DispatchInfo.self),
    (DispatchStore.EncodedAction.self, EncodedAction.self),
    (DispatchStore.HandledAction.self, HandledAction.self),
    (DispatchStore.ModelDifference.self, ModelDifference.self),
    (DispatchStore.NoPayload.self, NoPayload.self),
    (DispatchStore.PlainDecoder.self, PlainDecoder.self),
    (DispatchStore.PlainEncoder.self, PlainEncoder.self),
    (DispatchStore.PlainValue.self, PlainValue.self),
    (DispatchStore.Reduction.self, Reduction.self),
    (DispatchStore.ReductionEffect.self, ReductionEffect.self),
    (DispatchStore.StoreReads.self, StoreReads.self),
    (DispatchStore.DeltaBufferingPolicy.self, DeltaBufferingPolicy.self),
    (DispatchStore.StreamBufferingPolicy.self, StreamBufferingPolicy.self),
    ((any DispatchStore.ActionTemplate).self, (any ActionTemplate).self),
    ((any DispatchStore.CodableAction).self, (any CodableAction).self),
    ((any DispatchStore.EncodableAction).self, (any EncodableAction).self),
    ((any DispatchStore.ReplyingAction).self, (any ReplyingAction).self),
    ((any DispatchStore.DispatchKey).self, (any DispatchKey).self),
    ((any DispatchStore.ValueDecoder).self, (any ValueDecoder).self),
    ((any DispatchStore.ValueEncoder).self, (any ValueEncoder).self),
    ((any DispatchStore.GettersProviding).self, (any GettersProviding).self),
    ((any DispatchStore.HandlerComponent).self, (any HandlerComponent).self),
    ((any DispatchStore.ParentStore).self, (any ParentStore).self),
    (DispatchStore.ActionVerdict<Action>.self, ActionVerdict<Action>.self),
    (DispatchStore.Applying<Model>.self, Applying<Model>.self),
    (DispatchStore.HandlerBuilder<Model>.self, HandlerBuilder<Model>.self),
    (DispatchStore.HandlerStore<Model>.self, HandlerStore<Model>.self),
    (DispatchStore.ChildHandlerStore<Model>.self, ChildHandlerStore<Model>.self),
    (
      DispatchStore.OptionalChildHandlerStore<Model>.self, OptionalChildHandlerStore<Model>.self
    ),
    (DispatchStore.HandlerOperation<Model>.self, HandlerOperation<Model>.self),
    (DispatchStore.Handlers<Model>.self, Handlers<Model>.self),
    (DispatchStore.On<Model>.self, On<Model>.self),
    (DispatchStore.Operating<Model>.self, Operating<Model>.self),
    (DispatchStore.Part<Model>.self, Part<Model>.self),
    (DispatchStore.Performing<Model>.self, Performing<Model>.self),
    (DispatchStore.ModelDiff<Model>.self, ModelDiff<Model>.self),
    (DispatchStore.StoreStream<Model>.self, StoreStream<Model>.self),
    (DispatchStore.ChildChange<Model>.self, ChildChange<Model>.self),
    (DispatchStore.ChildStore<Model, Action>.self, ChildStore<Model, Action>.self),
    (DispatchStore.CombinedReducer<Model, Action>.self, CombinedReducer<Model, Action>.self),
    (DispatchStore.FunctionReducer<Model, Action>.self, FunctionReducer<Model, Action>.self),
    (DispatchStore.OptionalChildStore<Model, Action>.self, OptionalChildStore<Model, Action>.self),
    (DispatchStore.PartChange<Model, Action>.self, PartChange<Model, Action>.self),
    (DispatchStore.ReduxStore<Model, Action>.self, ReduxStore<Model, Action>.self),
    (DispatchStore.ValueChange<Model, Action>.self, ValueChange<Model, Action>.self),
    (DispatchStore.WrappedReducer<Model, Action>.self, WrappedReducer<Model, Action>.self),
    (DispatchStore.StateSelector<Model, Int>.self, StateSelector<Model, Int>.self),
    (
      DispatchStore.CombinedSelector<Model, Int, Int, String>.self,
      CombinedSelector<Model, Int, Int, String>.self
    ),
    (DispatchStore.GetterValues<Gotten, Action>.self, GetterValues<Gotten, Action>.self),
    (
      DispatchStore.ForEachReducer<Model, Action, Int, Model, Action>.self,
      ForEachReducer<Model, Action, Int, Model, Action>.self
    ),
    (
      DispatchStore.PartReducer<Model, Action, Int, Action>.self,
      PartReducer<Model, Action, Int, Action>.self
    ),
    (DispatchStore.ReplyResult<Int>.self, ReplyResult<Int>.self),
    (DispatchStore.TemplateAction<Template>.self, TemplateAction<Template>.self),
    (DispatchStore.ActionGroup.self, ActionGroup.self),
    (DispatchStore.ActionGroupBuilder.self, ActionGroupBuilder.self),
    (DispatchStore.ActionGroupHandle.self, ActionGroupHandle.self),
    (DispatchStore.ActionGroupResult.self, ActionGroupResult.self),
    (DispatchStore.ActionStep.self, ActionStep.self),
    (DispatchStore.ActionStepResult.self, ActionStepResult.self),
    (DispatchStore.Diagnosis.self, Diagnosis.self),
    (DispatchStore.DispatchLimit.self, DispatchLimit.self),
    (DispatchStore.DispatchLimits.self, DispatchLimits.self),
    (DispatchStore.DrainReport.self, DrainReport.self),
    (DispatchStore.InFlightDispatch.self, InFlightDispatch.self),
    (DispatchStore.RateEdges.self, RateEdges.self),
    (DispatchStore.RetryBackoff.self, RetryBackoff.self),
    (DispatchStore.StoreGroup<Model, Int>.self, StoreGroup<Model, Int>.self),
    (DispatchStore.StoreGroupChange<Model, Int>.self, StoreGroupChange<Model, Int>.self),
    (DispatchStore.StoreSnapshot<Model, Int>.self, StoreSnapshot<Model, Int>.self),
  ]

  static func run() -> Int {
    let dispatcher = DispatchStore(name: "nested")
    dispatcher.register(middleware: Silent())
    let store = dispatcher.register(store: DispatchStore.Store(reducer: ModelReducer()))
    dispatcher.dispatch(action: Action(), mode: DispatchStore.Mode.sync)
    return store.model.value
  }
}
