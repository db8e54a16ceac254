import DispatchStore
import Testing

/// Calls `unchanged()` for actions whose name begins with "no".
private class IgnoringReducer: Reducer<Int, Ping> {
  override func reduce(into model: inout Int, action: Ping) throws {
    if action.name.hasPrefix("no") { unchanged() } else { model += 1 }
    if action.name.hasSuffix("fail") { throw PingFailure() }
  }
}

/// Reduces by `apply(_:to:)` of its superclass.
private final class ApplyingHeir: IgnoringReducer {
  override func apply(_ action: Ping, to store: ProbeStore) throws {
    try super.apply(action, to: store)
  }
}

/// Reduces by `operation(for:in:)` of its superclass.
private final class OperatingHeir: IgnoringReducer {
  override func operation(
    for action: Ping, in store: ProbeStore
  ) -> ActionOperation<Int, Ping> {
    super.operation(for: action, in: store)
  }
}

/// Changes its model, and has another reducer reduce it too.
private final class ComposedReducer: Reducer<Int, Ping> {
  private let part = IgnoringReducer()

  override func reduce(into model: inout Int, action: Ping) throws {
    model += 10
    try part.reduce(into: &model, action: action)
  }
}

@Suite("A reduction that changes nothing", .timeLimit(.minutes(10)))
struct NoChangeTests {
  private let dispatcher = Dispatcher()
  private let changes = Recorder<Int>()

  enum Kind: CaseIterable {
    case reducing, applying, operating

    func makeReducer() -> Reducer<Int, Ping> {
      switch self {
      case .reducing: IgnoringReducer()
      case .applying: ApplyingHeir()
      case .operating: OperatingHeir()
      }
    }
  }

  private func run(
    _ store: ProbeStore, _ name: String, _ mode: Dispatcher.Mode
  ) async -> StoreOutcome? {
    await store.dispatch(Ping(name: name), mode: mode).result[store.identifier]
  }

  @Test(arguments: Dispatcher.Mode.everyMode, Kind.allCases)
  func isNoCommitAndNotifiesNoObserver(mode: Dispatcher.Mode, kind: Kind) async {
    let store = dispatcher.register(
      store: ProbeStore(identifier: "s", model: 0, reducer: kind.makeReducer()))
    for isObserved in [false, true] {
      let before = store.version
      let token = isObserved ? store.observe(.model) { [changes] in changes.record($0.value) } : nil
      #expect(await run(store, "no", mode)?.isFinished == true)
      #expect(await run(store, "no fail", mode)?.error is PingFailure)
      #expect(store.version == before)
      #expect(await run(store, "yes", mode)?.isFinished == true)
      #expect(await run(store, "yes, fail", mode)?.error is PingFailure)
      #expect(store.version == before + 2)
      withExtendedLifetime(token) {}
    }
    #expect(changes.all == [3, 4])
    #expect(store.model == 4)
  }

  @Test(arguments: [false, true])
  func isThatOfTheStoresOwnReducerAlone(isObserved: Bool) {
    let store = dispatcher.register(
      store: ProbeStore(identifier: "s", model: 0, reducer: ComposedReducer()))
    let token = isObserved ? store.observe(.model) { [changes] in changes.record($0.value) } : nil
    store.dispatch(Ping(name: "no"), mode: .sync)
    #expect(store.version == 1)
    #expect(store.model == 10)
    #expect(changes.all == (isObserved ? [10] : []))
    withExtendedLifetime(token) {}
  }

  @Test func saidOutsideItsOwnReductionHasNoEffect() throws {
    let reducer = IgnoringReducer()
    nonisolated(unsafe) let same = reducer
    let store = dispatcher.register(store: ProbeStore(identifier: "s", model: 0, reducer: same))
    same.unchanged()
    store.updateModel { model in
      model = 5
      same.unchanged()
    }
    #expect(store.version == 1)
    store.withModel { _ in same.unchanged() }
    store.dispatch(Ping(name: "yes"), mode: .sync)
    #expect(store.version == 2)
    #expect(store.model == 6)
  }
}
