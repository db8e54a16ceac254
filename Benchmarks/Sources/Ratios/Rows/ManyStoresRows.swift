import BenchmarkSupport
import DispatchStore

/// Many stores that are visited in turn, and what comes along with a `.sync` dispatch.
enum ManyStoresRows {
  static let all =
    sizes.map { row($0, "identifier", StoreVisits.byIdentifier) }
    + sizes.map { row($0, "store", StoreVisits.byStore) }
    + [ofAStore, afterUnrelated, afterSameType, middleware, observers]

  private static let sizes = [32, 1_000, 100_000]

  /// A thread visits all stores in shuffled order, again and again, `.sync`.
  ///
  /// The floor: a dictionary of counters with locks, in the same order, by identifiers that are built in the same way.
  private static func row(
    _ size: Int, _ key: String, _ visits: @escaping @Sendable (Town) -> Workload
  ) -> Row {
    Row(
      "`.sync`, \(size) stores, shuffled, by \(key)", floor: "dictionary of counters with locks",
      bound: .times(size < 100_000 ? 3 : 5)
    ) { rounds in
      let town = Town(of: size)
      return Rounds.alternate(
        rounds, count: max(20_000, size), floor: StoreVisits.lockedCounters(town),
        subject: visits(town))
    }
  }

  /// To one store, by itself; the floor: by its identifier.
  private static let ofAStore = Row(
    "`store.dispatch`, `.sync`", floor: "`dispatch(storeIdentifier:)`", bound: .times(1.6)
  ) { rounds in
    let fixture = Fixture(PlainReducer())
    let (dispatcher, store) = (fixture.dispatcher, fixture.store)
    let identifier = store.identifier
    return Rounds.alternate(rounds, count: 20_000) { count in
      for index in 0..<count {
        dispatcher.dispatch(storeIdentifier: identifier, action: Add(index), mode: .sync)
      }
    } subject: { count in
      for index in 0..<count { store.dispatch(Add(index), mode: .sync) }
    }
  }

  /// A store of another action type.
  private static let afterUnrelated = after(
    "an unrelated registration",
    of: { Store(identifier: "other", reducer: TaggedReducer<Tag.A>()) },
    dispatch: { $0.dispatcher.dispatch(action: Add($1), mode: .sync) })

  /// A store of the same action type; the actions go to the other one's identifier.
  private static let afterSameType = after(
    "a registration of its action type",
    of: { Store(identifier: "other", reducer: PlainReducer()) },
    dispatch: {
      $0.dispatcher.dispatch(storeIdentifier: $0.store.identifier, action: Add($1), mode: .sync)
    })

  /// A store is registered and unregistered, and then ten actions are dispatched to another one; per action.
  ///
  /// The floor: the same, with the store that comes and goes at another dispatcher.
  private static func after<Action: ActionType>(
    _ registration: String, of store: @escaping @Sendable () -> Store<Counter, Action>,
    dispatch: @escaping @Sendable (Fixture<Add>, Int) -> Void
  ) -> Row {
    Row("`.sync` after \(registration)", floor: "the same without it", bound: .times(2)) { rounds in
      let fixture = Fixture(PlainReducer())
      let other = Dispatcher(name: "other")
      func run(_ count: Int, registering dispatcher: Dispatcher) {
        for _ in 0..<(count / 10) {
          dispatcher.unregister(store: dispatcher.register(store: store()))
          for index in 0..<10 { dispatch(fixture, index) }
        }
      }
      return Rounds.alternate(rounds, count: 5_000) {
        run($0, registering: other)
      } subject: {
        run($0, registering: fixture.dispatcher)
      }
    }
  }

  /// With a middleware that counts in both hooks, by an atomic each; the floor: without.
  private static let middleware = Row(
    "`.sync` with a middleware", floor: "without", bound: .times(6)
  ) { rounds in
    let (plain, fixture) = (Fixture(PlainReducer()), Fixture(PlainReducer()))
    fixture.dispatcher.register(middleware: CountingMiddleware())
    return Rounds.alternate(rounds, count: 20_000) { count in
      for index in 0..<count { plain.dispatcher.dispatch(action: Add(index), mode: .sync) }
    } subject: { count in
      for index in 0..<count { fixture.dispatcher.dispatch(action: Add(index), mode: .sync) }
    }
  }

  /// With 100 observers that do nothing; the floor: a loop over 100 closures, and the reduction under a lock.
  private static let observers = Row(
    "`.sync`, 100 observers", floor: "a loop over 100 closures", bound: .times(2)
  ) { rounds in
    let fixture = Fixture(PlainReducer())
    let counter = LockedCounter()
    let tokens = (0..<100).map { _ in fixture.store.observe(.model) { _ in } }
    let closures: [@Sendable (Int) -> Void] = (0..<100).map { _ in { _ in } }
    return withExtendedLifetime(tokens) {
      Rounds.alternate(rounds, count: 2_000) { count in
        for index in 0..<count {
          counter.reduce(Add(index))
          for closure in closures { closure(index) }
        }
      } subject: { count in
        for index in 0..<count { fixture.dispatcher.dispatch(action: Add(index), mode: .sync) }
      }
    }
  }
}
