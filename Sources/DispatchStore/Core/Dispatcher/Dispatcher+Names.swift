/// The dispatcher under the module's own name.
public typealias DispatchStore = Dispatcher

// The class has the module's name, so that `DispatchStore.Store` is looked up among its members.
extension Dispatcher {
  /// The type of that name in the module.
  public typealias ActionOperation<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::ActionOperation<Model, Action>
  /// The type of that name in the module.
  public typealias ActionType = DispatchStore::ActionType
  /// The type of that name in the module.
  public typealias AnyAction = DispatchStore::AnyAction
  /// The type of that name in the module.
  public typealias AnyStore = DispatchStore::AnyStore
  /// The type of that name in the module.
  public typealias CallSite = DispatchStore::CallSite
  /// The type of that name in the module.
  public typealias CarriedTaskLocal = DispatchStore::CarriedTaskLocal
  /// The type of that name in the module.
  public typealias DispatchError = DispatchStore::DispatchError
  /// The type of that name in the module.
  public typealias DispatchHandle = DispatchStore::DispatchHandle
  /// The type of that name in the module.
  public typealias DispatchInfo = DispatchStore::DispatchInfo
  /// The type of that name in the module.
  public typealias DispatchMiddleware = DispatchStore::DispatchMiddleware
  /// The type of that name in the module.
  public typealias TransactionKey = DispatchStore::TransactionKey
  /// The type of that name in the module.
  public typealias DispatchIncident = DispatchStore::DispatchIncident
  /// The type of that name in the module.
  public typealias DispatchResult = DispatchStore::DispatchResult
  /// The type of that name in the module.
  public typealias MiddlewareContext = DispatchStore::MiddlewareContext
  /// The type of that name in the module.
  public typealias LoggerMiddleware = DispatchStore::LoggerMiddleware
  /// The type of that name in the module.
  public typealias Middleware = DispatchStore::Middleware
  /// The type of that name in the module.
  public typealias MiddlewareVerdict = DispatchStore::MiddlewareVerdict
  /// The type of that name in the module.
  public typealias ModelType = DispatchStore::ModelType
  /// The type of that name in the module.
  public typealias ObserverDelivery = DispatchStore::ObserverDelivery
  /// The type of that name in the module.
  public typealias ObserverToken = DispatchStore::ObserverToken
  /// The type of that name in the module.
  public typealias Reducer<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::Reducer<Model, Action>
  /// The type of that name in the module.
  public typealias ReplyingAction = DispatchStore::ReplyingAction
  /// The type of that name in the module.
  public typealias ReplyResult<Reply: Sendable> = DispatchStore::ReplyResult<Reply>
  /// The type of that name in the module.
  public typealias RunningOperation<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::RunningOperation<Model, Action>
  /// The type of that name in the module.
  public typealias Store<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::Store<Model, Action>
  /// The type of that name in the module.
  public typealias StoreChange<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::StoreChange<Model, Action>
  /// The type of that name in the module.
  public typealias StoreOutcome = DispatchStore::StoreOutcome
  /// The type of that name in the module.
  public typealias StoreOwnership = DispatchStore::StoreOwnership
  /// The type of that name in the module.
  public typealias StoreReads = DispatchStore::StoreReads
  /// The type of that name in the module.
  public typealias StoreResult = DispatchStore::StoreResult
  /// The type of that name in the module.
  public typealias StoreType = DispatchStore::StoreType
  /// The type of that name in the module.
  public typealias TransactionID = DispatchStore::TransactionID
  /// The type of that name in the module.
  public typealias Veto = DispatchStore::Veto
  /// The type of that name in the module.
  public typealias WaitFor = DispatchStore::WaitFor
  /// The type of that name in the module.
  public typealias DispatchOptions = DispatchStore::DispatchOptions
  /// The type of that name in the module.
  public typealias MainDelivery = DispatchStore::MainDelivery
  /// The type of that name in the module.
  public typealias CoalescedChange<Model: Sendable, Action: DispatchStore::ActionType> =
    DispatchStore::CoalescedChange<Model, Action>
  /// The type of that name in the module.
  public typealias StoreCommit<Action: DispatchStore::ActionType> =
    DispatchStore::StoreCommit<Action>
}
