import BenchmarkSupport
import DispatchStore

/// Many stores that are visited in turn, and what comes along with a `.sync` dispatch.
enum ManyStoresRows {
  static let all =
    sizes.map { row($0, "identifier", StoreVisits.byIdentifier) }
    + sizes.map { row($0, "store", StoreVisits.byStore) }
    + [ofAStore, registered, middleware, observers]

  private static let sizes = [32, 1_000, 100_000]

  /// A thread visits all stores in shuffled order, again and again, `.sync`.
  ///
  /// The floor: a dictionary of counters with locks, in the same order, by identifiers that are built in the same way.
  private static func row(
    _ size: Int, _ key: String, _ visits: @escaping @Sendable (Town) -> Workload
  ) -> Row {
    Row(
      "`.sync`, \(size) stores, shuffled, by \(key)", floor: "dictionary of counters with locks",
      bound: .times(3)
    ) { rounds in
      let town = Town(of: size)
      return Rounds.alternate(
        rounds, count: max(20_000, size), floor: StoreVisits.lockedCounters(town),
        subject: visits(town))
    }
  }

  /// To one store, by itself; the floor: by its identifier.
  private static let ofAStore = Row(
    "`store.dispatch`, `.sync`", floor: "`dispatch(storeIdentifier:)`", bound: .times(1.1)
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

  /// A store of another action type is registered and unregistered, and then ten actions are dispatched; per action.
  ///
  /// The floor: the same, with that store at another dispatcher.
  private static let registered = Row(
    "`.sync` after an unrelated registration", floor: "the same without it", bound: .times(2)
  ) { rounds in
    let fixture = Fixture(PlainReducer())
    let dispatcher = fixture.dispatcher
    let other = Dispatcher(name: "other")
    func dispatch() { for index in 0..<10 { dispatcher.dispatch(action: Add(index), mode: .sync) } }
    func register(with dispatcher: Dispatcher) {
      let store = dispatcher.register(
        store: Store(identifier: "other", reducer: TaggedReducer<Tag.A>()))
      dispatcher.unregister(store: store)
    }
    return Rounds.alternate(rounds, count: 5_000) { count in
      for _ in 0..<(count / 10) {
        register(with: other)
        dispatch()
      }
    } subject: { count in
      for _ in 0..<(count / 10) {
        register(with: dispatcher)
        dispatch()
      }
    }
  }

  /// With a middleware whose hooks do nothing; the floor: without.
  private static let middleware = Row(
    "`.sync` with a middleware", floor: "without", bound: .times(2)
  ) { rounds in
    let (plain, fixture) = (Fixture(PlainReducer()), Fixture(PlainReducer()))
    fixture.dispatcher.register(middleware: PassingMiddleware())
    return Rounds.alternate(rounds, count: 20_000) { count in
      for index in 0..<count { plain.dispatcher.dispatch(action: Add(index), mode: .sync) }
    } subject: { count in
      for index in 0..<count { fixture.dispatcher.dispatch(action: Add(index), mode: .sync) }
    }
  }

  /// With 100 observers that do nothing; the floor: a loop over 100 closures, and the reduction under a lock.
  private static let observers = Row(
    "`.sync`, 100 observers", floor: "a loop over 100 closures", bound: .times(1.5)
  ) { rounds in
    let fixture = Fixture(PlainReducer())
    let counter = LockedCounter()
    let tokens = (0..<100).map { _ in fixture.store.observe { _ in } }
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
