import DispatchStore
import Testing

/// Changes of a large model copy nothing, as long as no snapshot is held.
@Suite(.timeLimit(.minutes(10)))
struct InPlaceUpdateTests {
  private let store = Store<Table, TableAction>(reducer: TableReducer())

  @Test(arguments: [false, true])
  func anUpdateCopiesNothing(isObserved: Bool) {
    let versions = Recorder<UInt64>()
    let token = isObserved ? store.observe(.model) { versions.record($0.version) } : nil
    let place = store.withModel { $0.place }
    for index in 0..<100 { store.updateModel { $0.rows[index] = 1 } }
    #expect(store.withModel { $0.place } == place)
    #expect(store.withModel { $0.rows[99] } == 1)
    #expect(versions.count == (isObserved ? 100 : 0))
    token?.cancel()
  }

  @Test func anUpdateAfterASnapshotWasReleasedCopiesNothing() {
    let place = store.withModel { $0.place }
    #expect(store.model.rows.count == 100_000)
    store.updateModel { $0.rows[0] = 1 }
    #expect(store.withModel { $0.place } == place)
  }

  @Test func aSnapshotIsNotTouchedByLaterUpdates() {
    let snapshot = store.model
    store.updateModel { $0.rows[0] = 1 }
    #expect(snapshot.rows[0] == 0)
    #expect(store.withModel { $0.place } != snapshot.place)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aReductionCopiesNothing(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    dispatcher.register(store: store)
    let place = store.withModel { $0.place }
    for _ in 0..<50 { _ = await dispatcher.dispatch(action: TableAction.add(1), mode: mode).result }
    #expect(store.withModel { $0.place } == place)
    #expect(store.version == 50)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anUpdateThroughTheOperationCopiesNothing(mode: Dispatcher.Mode) async {
    let reducer = ClosureReducer<Table, TableAction> { action, store in
      ActionOperation(action: action, store: store) { operation, _, _ in
        operation.updateModel { $0.rows[7] += 1 }
        operation.finish()
      }
    }
    let store = Store<Table, TableAction>(reducer: reducer)
    let dispatcher = Dispatcher()
    dispatcher.register(store: store)
    let place = store.withModel { $0.place }
    for _ in 0..<10 {
      _ = await dispatcher.dispatch(action: TableAction.add(1), mode: mode).result
    }
    #expect(store.withModel { $0.place } == place)
    #expect(store.withModel { $0.rows[7] } == 10)
  }
}
