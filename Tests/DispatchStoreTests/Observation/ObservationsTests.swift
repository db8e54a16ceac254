import DispatchStore
import DispatchStoreTesting
import Observation
import Synchronization
import Testing

/// `Observations`, the toolchain's asynchronous sequence of tracked values.
@Suite(.timeLimit(.minutes(10)))
struct ObservationsTests {
  @Test func giveThePresentModelAndEndAtTheLastOne() async {
    let store = CounterStore.counter()
    store.updateModel { $0.count = 5 }
    let last = 5 + 4 * Load.count(500)
    let (begun, counts) = (Latch(), Recorder<Int>())
    let consumer = Task {
      for await count in Observations({ store.model.count }) {
        counts.record(count)
        begun.open()
        if count == last { break }
      }
    }
    await begun.opened()
    await onOwnThreads(4) { _ in
      for _ in 0..<Load.count(500) { store.updateModel { $0.count += 1 } }
    }
    await consumer.value
    #expect(counts.all.first == 5)
    #expect(counts.all.last == last)
    #expect(counts.all == counts.all.sorted())
  }

  @Test func ofSeveralStoresSeeEachChange() async {
    let stores = (0..<3).map { _ in CounterStore.counter() }
    let sums = Recorder<Int>()
    let consumer = Task {
      for await sum in Observations({ stores.reduce(0) { $0 + $1.withModel(\.count) } }) {
        sums.record(sum)
        if sum == 30 { break }
      }
    }
    for round in 0..<30 {
      _ = await sums.first(1)
      stores[round % 3].updateModel { $0.count += 1 }
    }
    await consumer.value
    #expect(sums.all == sums.all.sorted())
  }
}

/// Seeded orders of threads.
@Suite(.timeLimit(.minutes(10)))
struct TrackedReadExplorationTests {
  @Test func missNoChangeInAnyOrder() async throws {
    let seeds: Range<UInt64> = 0..<UInt64(Load.count(300))
    try await explore(seeds: seeds) { dispatcher in
      let store = dispatcher.register(store: CounterStore.counter("counter"))
      let handles = (0..<3).map { _ in store.dispatch(.add(1), mode: .async) }
      let reader = TrackedReader(store)
      while reader.readIfStale() < 3 {}
      for handle in handles { await handle.ended() }
    }
  }
}

/// Reads a store only where that has changed.
private final class TrackedReader: Sendable {
  private let store: CounterStore
  private let isStale = Atomic(true)
  private let last = Atomic(-1)
  private let unrelated = CounterStore.counter("unrelated")

  init(_ store: CounterStore) {
    self.store = store
  }

  func readIfStale() -> Int {
    // Looking at an unrelated store lets other threads run.
    _ = unrelated.model
    guard isStale.exchange(false, ordering: .sequentiallyConsistent) else {
      return last.load(ordering: .relaxed)
    }
    let count = withObservationTracking {
      defer { _ = unrelated.model }
      return store.model.count
    } onChange: { [self] in
      isStale.store(true, ordering: .sequentiallyConsistent)
    }
    last.store(count, ordering: .relaxed)
    return count
  }
}
