/// An action that a store has handled, with the model before and after.
///
/// An action may commit several times, or not at all. `oldModel` is the model before its first commit, and `newModel`
/// the model after its last one; without a commit, both are the current model. If the store's actions run in a lane,
/// or with one thread, no other change lies between. If other actions change the store meanwhile, their commits
/// between these two are included; then `newVersion - oldVersion` is more than `commitCount`.
///
/// A reducer may withhold an action's commits from observers (`Reducer.shouldNotifyObservers(for:in:)`). Then
/// `newModel` is the model at the action's end. `oldModel` is the last model before that which an interceptor knows:
/// if no other action is under way, the model at the dispatch.
public struct Interception<Model: Sendable, Action: ActionType>: Sendable {
  /// The store's identifier.
  public let storeIdentifier: String
  /// The action that ran, after replacement by middlewares.
  public let action: Action
  /// The model before the action's first commit.
  public let oldModel: Model
  /// The version of `oldModel`.
  public let oldVersion: UInt64
  /// The model after the action's last commit.
  public let newModel: Model
  /// The version of `newModel`.
  public let newVersion: UInt64
  /// The number of commits that the action has made.
  public let commitCount: Int
  /// The dispatch: its identity, parent, mode, call site and times.
  public let transaction: MiddlewareContext

  /// The time that the store itself took, by the dispatcher's clock.
  public var duration: Duration { transaction.duration ?? .zero }
  /// The outcome of the store's run.
  public var outcome: StoreOutcome { transaction.outcome ?? .finished }
}
