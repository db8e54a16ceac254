public import DispatchStore

/// Records the actions that the stores of one type have handled, with their models before and after.
///
///     let interceptor = TestInterceptor<Counter, CounterAction>()
///     dispatcher.register(interceptor: interceptor)
///     dispatcher.dispatch(action: CounterAction.add(2), mode: .sync)
///     #expect(interceptor.changes.map(\.newModel.count) == [2])
///
/// You can use it from any thread. Its wait ends by events of the dispatcher, never by a time.
public final class TestInterceptor<Model: Sendable, Action: ActionType>: Interceptor {
  private let recorded = Awaited<[Interception<Model, Action>]>([])

  /// Makes an interceptor that has recorded nothing.
  public init() {}

  /// All recorded interceptions, in the order in which the actions ended.
  public var interceptions: [Interception<Model, Action>] { recorded.read { $0 } }

  /// The actions, in the order in which they ended.
  public var actions: [Action] { interceptions.map(\.action) }

  /// The interceptions that have committed something.
  public var changes: [Interception<Model, Action>] {
    interceptions.filter { $0.commitCount > 0 }
  }

  /// Returns all recorded interceptions, once there are at least this many.
  ///
  /// Returns earlier if the task is cancelled.
  @discardableResult
  public func interceptions(atLeast count: Int) async -> [Interception<Model, Action>] {
    await recorded.first { $0.count >= count ? $0 : nil } ?? interceptions
  }

  /// Removes all recorded interceptions.
  public func removeAll() {
    let former = recorded.change { recorded in
      defer { recorded = [] }
      return recorded
    }
    withExtendedLifetime(former) {}
  }

  /// Returns whether the store is of this type.
  public func intercepts(_ store: AnyStore) -> Bool { store is Store<Model, Action> }

  /// Records an action that a store has handled.
  public func didHandle<OtherModel: Sendable, OtherAction: ActionType>(
    _ interception: Interception<OtherModel, OtherAction>
  ) {
    guard let interception = interception as? Interception<Model, Action> else { return }
    recorded.change { $0.append(interception) }
  }
}
