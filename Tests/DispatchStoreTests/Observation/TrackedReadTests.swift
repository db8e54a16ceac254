import DispatchStore
import DispatchStoreTesting
import Foundation
import Observation
import Synchronization
import Testing

/// The ways to read a store.
enum StoreRead: CaseIterable, Sendable {
  case model, withModel, version

  func read(_ store: CounterStore) -> Int {
    switch self {
    case .model: store.model.count
    case .withModel: store.withModel(\.count)
    case .version: Int(store.version)
    }
  }
}

/// Code that the toolchain's Observation tracks.
@Suite(.timeLimit(.minutes(10)))
struct TrackedReadTests {
  @Test(arguments: StoreRead.allCases)
  func eachKindOfReadIsTracked(_ kind: StoreRead) {
    let store = CounterStore.counter()
    let changes = Recorder<Int>()
    for round in 1...3 {
      let seen = withObservationTracking {
        kind.read(store)
      } onChange: {
        changes.record(kind.read(store))
      }
      #expect(seen == round - 1)
      #expect(changes.count == round - 1)
      store.updateModel { $0.count += 1 }
      #expect(changes.all == Array(1...round), "the call has the new model")
    }
  }

  @Test func aTrackingEndsWithTheFirstChange() {
    let store = CounterStore.counter()
    let changes = Recorder<UInt64>()
    withObservationTracking {
      _ = store.model
    } onChange: {
      changes.record(store.version)
    }
    for _ in 0..<3 { store.updateModel { $0.count += 1 } }
    #expect(changes.all == [1])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func isNotifiedOfADispatchBeforeItsCompletion(_ mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: CounterStore.counter())
    let events = Recorder<String>()
    withObservationTracking {
      _ = store.model
    } onChange: {
      events.record("change to \(store.model.count)")
    }
    await store.dispatch(.add(3), mode: mode) { _ in events.record("completion") }.ended()
    #expect(events.all == ["change to 3", "completion"])
  }

  @Test func oneTrackingMayReadManyStores() {
    let stores = (0..<10).map { _ in CounterStore.counter() }
    let changes = Recorder<Int>()
    for changed in stores.indices {
      withObservationTracking {
        for store in stores { _ = store.withModel(\.count) }
      } onChange: {
        changes.record(changed)
      }
      stores[changed].updateModel { $0.count += 1 }
      stores[0].updateModel { $0.count += 1 }
    }
    #expect(changes.all == Array(stores.indices))
  }

  @Test func aNestedTrackingIsPartOfTheOuterOne() {
    let store = CounterStore.counter()
    let changes = Recorder<String>()
    withObservationTracking {
      withObservationTracking {
        _ = store.model
      } onChange: {
        changes.record("inner")
      }
    } onChange: {
      changes.record("outer")
    }
    store.updateModel { $0.count += 1 }
    #expect(changes.all.sorted() == ["inner", "outer"])
  }

  /// The registrar begins to track after the code has read.
  @Test func aChangeBetweenTheReadAndTheRegistrationIsNotMissed() async {
    let store = CounterStore.counter()
    for round in 1...20 {
      let changes = Recorder<Int>()
      withObservationTracking {
        _ = store.model
        store.updateModel { $0.count = round }
      } onChange: {
        changes.record(store.model.count)
      }
      #expect(await changes.first(1) == [round])
    }
  }

  @Test func anUntrackedReadAfterTheChangeDoesNotHideItFromOneThatIsLate() async {
    let store = CounterStore.counter()
    let changes = Recorder<Int>()
    withObservationTracking {
      _ = store.model
      store.updateModel { $0.count = 1 }
      // Read again: the older of the two reads counts.
      _ = store.model
    } onChange: {
      changes.record(store.model.count)
    }
    #expect(await changes.first(1) == [1])
  }

  @Test func whatIsNotDeliveredToObserversIsNoChange() {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(
      store: ProbeStore(
        model: 0,
        reducer: ClosureReducer<Int, Ping>(notifies: { $0.name == "shown" }) { action, store in
          ActionOperation(action: action, store: store) { _, store in
            store.updateModel { $0 += 1 }
          }
        }))
    let changes = Recorder<Int>()
    withObservationTracking {
      _ = store.model
    } onChange: {
      changes.record(store.model)
    }
    store.dispatch(Ping(name: "kept"), mode: .sync)
    #expect(changes.count == 0)
    store.dispatch(Ping(name: "shown"), mode: .sync)
    #expect(changes.all == [2])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func onChangeMayDispatchInEveryMode(_ mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: CounterStore.counter())
    let handles = Recorder<DispatchHandle>()
    withObservationTracking {
      _ = store.model
    } onChange: {
      handles.record(store.dispatch(.add(10), mode: mode))
    }
    await store.dispatch(.add(1), mode: mode).ended()
    await handles.first(1)[0].ended()
    #expect(store.model.count == 11)
  }

  @Test func trackedCodeThatReadsAgainInOnChangeSeesEachLastState() async {
    let store = CounterStore.counter()
    let follower = Follower(store)
    follower.follow()
    let (threads, each) = (4, Load.count(500))
    await onOwnThreads(threads) { _ in
      for _ in 0..<each { store.updateModel { $0.count += 1 } }
    }
    await follower.has(seen: threads * each)
    #expect(follower.seen == follower.seen.sorted())
    #expect(follower.mostCallsOfOne == 1, "each tracking is notified once")
    #expect(follower.mostAtOnce == 1, "one call at a time")
  }

  @Test func trackingsThatComeAndGoMissNoChange() async {
    let store = CounterStore.counter()
    let (threads, each) = (3, Load.count(300))
    let done = Atomic(0)
    await onOwnThreads(threads * 2) { index in
      guard index < threads else {
        for _ in 0..<each { store.updateModel { $0.count += 1 } }
        done.add(1, ordering: .sequentiallyConsistent)
        return
      }
      // Each goes on only when it is notified of a change after what it has read.
      while true {
        let changed = Latch()
        let count = withObservationTracking {
          store.model.count
        } onChange: {
          changed.open()
        }
        if count == threads * each { break }
        changed.wait()
      }
    }
    #expect(done.load(ordering: .sequentiallyConsistent) == threads)
  }
}

/// Reads a store again and again, each time when that has changed.
private final class Follower: Sendable {
  private let store: CounterStore
  private let read = Recorder<Int>()
  private let calls = Recorder<Int>()
  private let isInside = Atomic(0)
  private let most = Atomic(0)

  init(_ store: CounterStore) {
    self.store = store
  }

  var seen: [Int] { read.all }
  var mostCallsOfOne: Int { calls.all.max() ?? 0 }
  var mostAtOnce: Int { most.load(ordering: .relaxed) }

  func follow() {
    let called = EventCount(of: 2)
    let count = withObservationTracking {
      store.model.count
    } onChange: { [self] in
      let inside = isInside.add(1, ordering: .relaxed).newValue
      most.max(inside, ordering: .relaxed)
      calls.record(called.add())
      isInside.subtract(1, ordering: .relaxed)
      follow()
    }
    read.record(count)
  }

  func has(seen count: Int) async {
    await read.untilRecorded { $0 == count }
  }
}
