/// A change of the state that a source follows, as observers and streams receive it.
///
/// It names the commits that it is about, and has the value after them.
public struct Change<Value: Sendable, Action: ActionType>: Sendable {
  @usableFromInline let content: ChangeContent<Value>
  /// The number of the last commit in `commits`, counted from 1; in an initial change, the present version.
  public let version: UInt64
  /// The action of the last commit, or nil if it was made outside a dispatch.
  ///
  /// Also nil for a travel of a `DispatchRecorder`, and for an undo in a store with an action type of its own.
  public let action: Action?
  /// The dispatch that made the last commit, or nil if it was made outside a dispatch.
  public let dispatchID: DispatchID?
  @usableFromInline let isInitial: Bool
  /// The commits before the last one, or nil if there are none.
  @usableFromInline let earlier: [StoreCommit<Action>]?

  @inlinable
  init(
    _ content: ChangeContent<Value>, version: UInt64, action: Action?, dispatchID: DispatchID?,
    isInitial: Bool = false, earlier: [StoreCommit<Action>]? = nil
  ) {
    self.content = content
    self.version = version
    self.action = action
    self.dispatchID = dispatchID
    self.isInitial = isInitial
    self.earlier = earlier
  }

  /// The value after the commits.
  ///
  /// It may be later than the commits for a whole model: on a queue it is read here, by the first use, and in a stream
  /// with `.newest(1)` when the consumer takes the change. It is a snapshot: while you hold it, the next commit copies.
  /// To read a part of a large model in place, use `Store.withModel`. A change on a queue of which you have not used
  /// `value` keeps the store's model, even once the store is gone.
  @inlinable
  public var value: Value {
    switch content {
    case .now(let value): value
    case .replaced(let replaced): replaced.value
    case .present(let read): read()
    }
  }

  /// The value of the previous change, or at the subscription.
  ///
  /// Nil in an initial change, for a whole model, for deltas, and for an element that was not there.
  @inlinable
  public var old: Value? {
    if case .replaced(let replaced) = content { replaced.old } else { nil }
  }

  /// The commits since the previous change, in commit order; none in an initial change.
  ///
  /// There are several if an observer of the model on a queue was behind. A commit that was dropped by a stream, or
  /// merged into a delta, is not named: then this is the newest one.
  public var commits: [StoreCommit<Action>] {
    if isInitial { return [] }
    let last = StoreCommit(version: version, action: action, dispatchID: dispatchID)
    return (earlier ?? []) + [last]
  }
}

/// A commit of a store, without its model.
public struct StoreCommit<Action: ActionType>: Sendable {
  /// The number of the commit, counted from 1.
  public let version: UInt64
  /// The action that ran, or that was passed to `inject`.
  ///
  /// Nil for any other update outside a dispatch, for a travel, and for an undo that the store has no action for.
  public let action: Action?
  /// The dispatch that ran the action, or nil for an update outside a dispatch.
  public let dispatchID: DispatchID?
}

/// The value of a change.
@usableFromInline
enum ChangeContent<Value: Sendable>: Sendable {
  case now(Value)
  case replaced(ReplacedValue<Value>)
  /// A model that is read when it is used, so that the change keeps none alive.
  case present(@Sendable () -> Value)
}

/// The model of a store, taken at most once.
final class PresentModel<Model: Sendable, Action: ActionType>: Sendable {
  private enum State {
    /// The model is not read yet.
    ///
    /// Can become taken.
    case present(ModelStorage<Model, Action>)
    /// The first use has read this model, and nothing of the store is kept.
    case taken(Model)
  }

  private let state: Locked<State>

  init(of storage: ModelStorage<Model, Action>) {
    state = Locked(.present(storage))
  }

  var value: Model {
    switch state.withLock(\.self) {
    case .taken(let model): return model
    case .present(let storage):
      return withExtendedLifetime(storage) { take(storage.snapshot.model) }
    }
  }

  /// Keeps the model that was read, unless another thread was faster; returns the one that is kept.
  private func take(_ present: Model) -> Model {
    state.withLock { state in
      if case .taken(let model) = state { return model }
      state = .taken(present)
      return present
    }
  }
}

extension ObservedModel {
  /// The commit as its observers get it.
  @inlinable var change: Change<Model, Action> {
    Change(
      .now(model), version: version, action: action, dispatchID: dispatchID,
      isInitial: isInitial)
  }
}
