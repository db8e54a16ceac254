/// One action that a store has handled, with the model before and after.
///
/// An action may commit several times, or not at all: `oldModel` is the model before its first commit,
/// `newModel` that after its last one. In a lane, or with one thread, nothing else lies between. Where other
/// actions change the store meanwhile, what they commit between these two is in the difference too; then
/// `newVersion - oldVersion` is more than `commitCount`. Where it commits nothing, both are the model as it is.
///
/// A reducer may withhold an action's commits from observers (`Reducer.shouldNotifyObservers(for:in:)`). Then
/// `newModel` is the model at the action's end, and `oldModel` the last one before that an interceptor knows:
/// where no other action is under way, the model when it was dispatched.
public struct Interception<Model: Sendable, Action: ActionType>: Sendable {
  /// The store's identifier.
  public let storeIdentifier: String
  /// The action that ran, as middlewares have left it.
  public let action: Action
  /// The model before the action's first commit.
  public let oldModel: Model
  /// The version of `oldModel`.
  public let oldVersion: UInt64
  /// The model after the action's last commit.
  public let newModel: Model
  /// The version of `newModel`.
  public let newVersion: UInt64
  /// How many commits the action has made.
  public let commitCount: Int
  /// The dispatch: its identity, parent, mode, call site and times.
  public let transaction: MiddlewareContext

  /// How long the store itself took, by the dispatcher's clock.
  public var duration: Duration { transaction.duration ?? .zero }
  /// How the store's run ended.
  public var outcome: StoreOutcome { transaction.outcome ?? .finished }
}
