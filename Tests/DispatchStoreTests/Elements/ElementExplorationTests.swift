import Dispatch
import DispatchStoreTesting
import Testing

@testable import DispatchStore

/// What an observer got is not what happened.
private struct WrongHistory: Error {
  let words: String
}

/// Under many interleavings that seeds decide.
@Suite(.timeLimit(.minutes(10)))
struct ElementExplorationTests {
  /// What observers got, by their number.
  private typealias Histories = Locked<[Int: [ParcelChange]]>

  private static func check(_ holds: Bool, _ words: @autoclosure () -> String) throws(WrongHistory)
  {
    if !holds { throw WrongHistory(words: words()) }
  }

  /// Changes by all modes, while observers and deltas come and go.
  @Sendable private static func run(_ dispatcher: Dispatcher) async throws {
    let store = dispatcher.register(store: ParcelStore.parcels())
    let histories = Histories([:])
    let (inline, queued, late) = (
      Locked([Int: Parcel]()), Locked([Int: Parcel]()), Locked([Int: Parcel]())
    )
    let tokens = Locked([ObserverToken]())
    @Sendable func observe(_ number: Int, _ queue: ObserverDelivery) {
      let token = ParcelPath.tracked.observe(store, id: 1, initial: true, on: queue) { change in
        histories.withLock { $0[number, default: []].append(change) }
      }
      tokens.withLock { $0.append(token) }
    }
    @Sendable func copy(_ place: Locked<[Int: Parcel]>, _ queue: ObserverDelivery) {
      let token = ParcelPath.tracked.observeDeltas(store, initial: true, on: queue) { delta in
        place.withLock { delta.apply(to: &$0) }
      }
      tokens.withLock { $0.append(token) }
    }
    observe(0, .inline)
    observe(1, .queue(DispatchQueue(label: "elements")))
    copy(inline, .inline)
    copy(queued, .queue(DispatchQueue(label: "deltas")))
    await withTaskGroup { group in
      for (id, mode) in [(1, Dispatcher.Mode.async), (2, .serial), (1, .sync), (3, .async)] {
        group.addTask {
          _ = await dispatcher.dispatch(action: ParcelAction.put(id, id), mode: mode).result
        }
      }
      group.addTask { store.updateModel { $0.parcels[1, default: Parcel(id: 1)].amount += 10 } }
      group.addTask {
        observe(2, .inline)
        copy(late, .inline)
      }
      group.addTask { store.observe(.element(\.parcels, 1), initial: true) { _ in }.cancel() }
    }
    store.updateModel { $0.parcels[1] = Parcel(id: 1, amount: -1) }
    let model = store.model.parcels.dictionary
    while histories.withLock({ $0.values.count { $0.last?.value?.amount == -1 } }) < 3
      || queued.withLock({ $0 }) != model
    {
      await Task.yield()
    }
    for (number, changes) in histories.withLock({ $0 }) {
      for (before, after) in zip(changes, changes.dropFirst()) {
        try check(
          before.value == after.old ?? nil && before.version < after.version,
          "\(number): \(changes)")
      }
    }
    let (all, copies) = (histories.withLock { $0 }, [inline.withLock { $0 }, late.withLock { $0 }])
    try check(all[0]?.map(\.version) == all[1]?.map(\.version), "\(all)")
    try check(copies.allSatisfy { $0 == model }, "\(copies)")
    for token in tokens.withLock({ $0 }) { token.cancel() }
    try check(store.storage.withLock { !$0.isObserved }, "still observed")
  }

  @Test func historiesAndCopiesAreRightInEachInterleaving() async throws {
    try await explore(seeds: 0..<UInt64(Load.count(300, long: 50_000)), Self.run)
  }

  @Test func theSameSeedGivesTheSameStepsWithObserversOfElements() async {
    for seed in 0..<UInt64(20) {
      let first = await Simulation(seed: seed).run(Self.run)
      let second = await Simulation(seed: seed).run(Self.run)
      #expect(first.failure == nil, "seed \(seed)")
      #expect(first.trace.description == second.trace.description)
    }
  }
}
