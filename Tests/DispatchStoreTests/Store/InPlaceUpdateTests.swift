import DispatchStore
import Testing

private struct Big: ModelType {
  var entries = [Int](repeating: 0, count: 1_000_000)

  /// Where the entries are; another place after a copy.
  var place: UInt { entries.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) } }
}

private enum BigAction: ActionType, Equatable {
  case set(Int)
}

private final class BigReducer: Reducer<Big, BigAction> {
  override func reduce(into model: inout Big, action: BigAction) {
    switch action {
    case .set(let index): model.entries[index] += 1
    }
  }
}

/// Changes of a large model copy nothing, as long as no snapshot is held.
@Suite(.timeLimit(.minutes(10)))
struct InPlaceUpdateTests {
  private let store = Store<Big, BigAction>(reducer: BigReducer())

  @Test func anUpdateCopiesNothing() {
    let place = store.withModel { $0.place }
    for index in 0..<100 { store.updateModel { $0.entries[index] = 1 } }
    #expect(store.withModel { $0.place } == place)
    #expect(store.withModel { $0.entries[99] } == 1)
  }

  @Test func anUpdateAfterASnapshotWasReleasedCopiesNothing() {
    let place = store.withModel { $0.place }
    #expect(store.model.entries.count == 1_000_000)
    store.updateModel { $0.entries[0] = 1 }
    #expect(store.withModel { $0.place } == place)
  }

  @Test func aSnapshotIsNotTouchedByLaterUpdates() {
    let snapshot = store.model
    store.updateModel { $0.entries[0] = 1 }
    #expect(snapshot.entries[0] == 0)
    #expect(store.withModel { $0.place } != snapshot.place)
  }

  @Test func anUpdateThatIsDeliveredCopiesNothing() {
    let versions = Recorder<UInt64>()
    let token = store.observe(.model) { versions.record($0.version) }
    let place = store.withModel { $0.place }
    for index in 0..<100 { store.updateModel { $0.entries[index] = 1 } }
    #expect(store.withModel { $0.place } == place)
    #expect(versions.count == 100)
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aReductionCopiesNothing(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    dispatcher.register(store: store)
    let place = store.withModel { $0.place }
    for index in 0..<50 {
      _ = await dispatcher.dispatch(action: BigAction.set(index), mode: mode).result
    }
    #expect(store.withModel { $0.place } == place)
    #expect(store.version == 50)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func anUpdateThroughTheOperationCopiesNothing(mode: Dispatcher.Mode) async {
    let reducer = ClosureReducer<Big, BigAction> { action, store in
      ActionOperation(action: action, store: store) { operation, _, _ in
        operation.updateModel { $0.entries[7] += 1 }
        operation.finish()
      }
    }
    let store = Store<Big, BigAction>(reducer: reducer)
    let dispatcher = Dispatcher()
    dispatcher.register(store: store)
    let place = store.withModel { $0.place }
    for _ in 0..<10 {
      _ = await dispatcher.dispatch(action: BigAction.set(7), mode: mode).result
    }
    #expect(store.withModel { $0.place } == place)
    #expect(store.withModel { $0.entries[7] } == 10)
  }
}
