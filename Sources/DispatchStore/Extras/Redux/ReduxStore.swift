/// A store with a function as reducer and a chain of middlewares, set up as in Redux.
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
/// For everything else, use `store`, and its dispatcher. You can use a Redux store from any thread.
public final class ReduxStore<State: Sendable, Action: ActionType>: Sendable {
  /// A step before the reducer: passes on the action, another one, several, one later, or none.
  ///
  /// `next` passes an action to the next middleware, or from the last one to the reducer. Called on the dispatching thread. The middleware may dispatch through the store, which begins again with the
  /// first middleware.
  public typealias Middleware =
    @Sendable (
      _ store: ReduxStore<State, Action>, _ next: @escaping @Sendable (Action) -> Void,
      _ action: Action
    ) -> Void

  /// The store that holds the state.
  public let store: Store<State, Action>
  /// Kept alive, since the store does not do that.
  private let dispatcher: Dispatcher
  private let mode: Dispatcher.Mode
  private let middlewares: [Middleware]

  /// Makes a store.
  ///
  /// - Parameters:
  ///   - state: The initial state.
  ///   - dispatcher: The dispatcher; by default a new one.
  ///   - mode: The mode of dispatches. By default, as in Redux, an action has run when `dispatch` returns.
  ///   - middleware: The middlewares, in the order in which they get an action.
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

  /// Makes a store whose reducer returns the next state.
  ///
  /// Unlike a reducer that changes the state in place, this one triggers copy-on-write of the parts it changes.
  public convenience init(
    _ state: State, dispatcher: Dispatcher = Dispatcher(name: "redux"),
    mode: Dispatcher.Mode = .sync, middleware: [Middleware] = [],
    returning reducer: @escaping @Sendable (_ state: State, Action) -> State
  ) {
    self.init(state, dispatcher: dispatcher, mode: mode, middleware: middleware) { state, action in
      state = reducer(state, action)
    }
  }

  /// The current state.
  public var state: State { store.model }

  /// Sends an action through the middlewares to the reducer.
  ///
  /// In `.sync` mode, the reducer and the subscribers have run on return, unless a middleware passes the action on
  /// later. To get the dispatch's result or await its end, dispatch to `store` instead: that bypasses the
  /// middlewares.
  public func dispatch(
    _ action: Action, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    pass(action, from: 0, fileID, line)
  }

  /// Calls a closure with the state after each action, in commit order, until the token is released or cancelled.
  ///
  /// The closure may dispatch. Behaves like `Store.observe`.
  public func subscribe(_ body: @escaping @Sendable (State) -> Void) -> ObserverToken {
    store.observe(.model) { change in body(change.value) }
  }

  private func pass(
    _ action: Action, from index: Int, _ fileID: StaticString, _ line: UInt
  ) {
    guard index < middlewares.count else {
      store.dispatch(action, mode: mode, fileID: fileID, line: line)
      return
    }
    middlewares[index](self, { [self] in pass($0, from: index + 1, fileID, line) }, action)
  }
}
