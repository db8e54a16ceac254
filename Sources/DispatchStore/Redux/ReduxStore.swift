/// One store with a function as reducer, and middlewares that call the next: Redux's set-up.
///
///     let counter = ReduxStore(0, middleware: [logger]) { (count: inout Int, action: CounterAction) in
///       switch action {
///       case .increase: count += 1
///       case .decrease: count -= 1
///       }
///     }
///     counter.dispatch(.increase)
///     print(counter.state)
///
/// It is a `Store`, registered with a `Dispatcher`, to which everything else applies: both are properties. May
/// be used from any thread.
public final class ReduxStore<State: Sendable, Action: ActionType>: Sendable {
  /// Passes an action on: to the next middleware, behind the last one to the reducer.
  public typealias Next = @Sendable (Action) -> Void
  /// What stands before the reducer: it passes the action on, another one instead, several, later, or none.
  ///
  /// Called on the thread that dispatches. It may dispatch through the store, which begins with the first
  /// middleware again.
  public typealias Middleware =
    @Sendable (_ store: ReduxStore<State, Action>, _ next: @escaping Next, _ action: Action) -> Void

  /// The store that has the state.
  public let store: Store<State, Action>
  /// The dispatcher that the store is registered with.
  public let dispatcher: Dispatcher
  private let mode: Dispatcher.Mode
  private let middlewares: [Middleware]

  /// Makes one.
  ///
  /// - Parameters:
  ///   - state: The first state.
  ///   - dispatcher: The dispatcher; a new one where none is given.
  ///   - mode: How actions run; by default, as in Redux, before `dispatch` returns.
  ///   - middleware: In the order in which they get an action.
  ///   - reducer: Changes the state for an action, in the store's exclusive section.
  public init(
    _ state: State, dispatcher: Dispatcher = Dispatcher(name: "redux"),
    mode: Dispatcher.Mode = .sync, middleware: [Middleware] = [],
    reducer: @escaping @Sendable (_ state: inout State, Action) -> Void
  ) {
    self.dispatcher = dispatcher
    self.mode = mode
    middlewares = middleware
    store = dispatcher.register(
      store: Store(model: state, reducer: FunctionReducer(reducer)))
  }

  /// Makes one whose reducer returns the next state.
  ///
  /// As the one that changes it in place, but that a reduction copies what it changes.
  public convenience init(
    _ state: State, dispatcher: Dispatcher = Dispatcher(name: "redux"),
    mode: Dispatcher.Mode = .sync, middleware: [Middleware] = [],
    returning reducer: @escaping @Sendable (_ state: State, Action) -> State
  ) {
    self.init(state, dispatcher: dispatcher, mode: mode, middleware: middleware) { state, action in
      state = reducer(state, action)
    }
  }

  /// The present state.
  public var state: State { store.model }

  /// The present state, by its name in Redux.
  public func getState() -> State { state }

  /// Takes an action through the middlewares, and what they pass on to the reducer.
  ///
  /// In the mode `.sync`, the reducer and the subscribers have run when this returns, as far as middlewares passed the
  /// action on at once. For its result or its end, dispatch to `store` instead: past these middlewares.
  public func dispatch(_ action: Action) {
    pass(action, from: 0)
  }

  /// Calls a closure with the state after each action, in commit order, until the token is released or cancelled.
  ///
  /// It may dispatch. As `Store.observe(initial:_:)`.
  public func subscribe(_ body: @escaping @Sendable (State) -> Void) -> ObserverToken {
    store.observe { change in body(change.model) }
  }

  private func pass(_ action: Action, from index: Int) {
    guard index < middlewares.count else {
      store.dispatch(action, mode: mode)
      return
    }
    middlewares[index](self, { [self] in pass($0, from: index + 1) }, action)
  }
}
