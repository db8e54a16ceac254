import DispatchStore
import Testing

@Suite struct PublishedReadTests {
  private struct Pair: ModelType {
    var first = [0]
    var second = [0]
  }
  private struct Step: ActionType {
    var inside: @Sendable () -> Void = {}
  }
  private final class StepReducer: Reducer<Pair, Step> {
    override func reduce(into pair: inout Pair, action: Step) {
      pair.first[0] += 1
      action.inside()
      pair.second[0] += 1
    }
  }
  private typealias PairStore = Store<Pair, Step>

  private func makeStore(_ identifier: String? = nil, reads: StoreReads = .published) -> PairStore {
    PairStore(identifier: identifier, reads: reads, reducer: StepReducer())
  }

  @Test func doNotWaitForAReductionInProgress() async {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: makeStore())
    let (entered, mayLeave) = (Latch(), Latch())
    let handle = store.dispatch(
      Step {
        entered.open()
        mayLeave.wait()
      })
    await entered.opened()
    #expect(store.model.first == [0] && store.version == 0)
    #expect(store.withModel { $0.second } == [0])
    mayLeave.open()
    await handle.ended()
    #expect(store.model.first == [1] && store.model.second == [1] && store.version == 1)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func showWhatACompletedDispatchHasCommitted(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: makeStore())
    let seen = Recorder<[Int]>()
    let token = store.observe(.model) { [weak store] change in
      seen.record([Int(change.version), Int(store!.version), store!.model.second[0]])
    }
    for count in 1...5 {
      await store.dispatch(Step(), mode: mode).ended()
      #expect(store.version == count && store.model.first == [count])
    }
    #expect(seen.all == (1...5).map { [$0, $0, $0] })
    token.cancel()
  }

  /// A deinitialiser of a model is code of the program, which may do what code may outside of sections.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func aModelsDeinitialiserRunsOutsideOfTheStoresSection(mode: Dispatcher.Mode) async {
    struct Parts: ModelType { var part: Mortal? }
    struct Replace: ActionType { let part: Mortal }
    let dispatcher = Dispatcher()
    let exclusive = dispatcher.register(store: makeStore("other", reads: .exclusive))
    let seen = Recorder<[Int]>()
    let store = dispatcher.register(
      store: Store(identifier: "parts", model: Parts(), reads: .published) {
        On(Replace.self) { parts, replace in parts.part = replace.part }
      })
    for _ in 0..<3 {
      let part = Mortal { seen.record(exclusive.model.first) }
      await store.dispatch(Replace(part: part), mode: mode).ended()
    }
    #expect(seen.all.isEmpty == false)
  }

  @Test func mayBeMadeInsideExclusiveSections() {
    let dispatcher = Dispatcher()
    let store = dispatcher.register(store: makeStore("published"))
    let other = dispatcher.register(store: makeStore("other", reads: .exclusive))
    let seen = Recorder<Int>()
    other.dispatch(
      Step {
        seen.record(store.model.first[0])
        store.withModel { seen.record($0.second[0]) }
      }, mode: .sync)
    store.dispatch(Step { seen.record(store.model.first[0]) }, mode: .sync)
    #expect(seen.all == [0, 0, 0])
  }

  @Test func showTheVersionThatIsCommittedWhereNothingChangesOrAnErrorIsThrown() {
    struct Stop: Error {}
    let store = makeStore()
    #expect(throws: Stop.self) {
      try store.updateModel { pair in
        pair.first = [7]
        throw Stop()
      }
    }
    #expect(store.model.first == [7] && store.version == 1)
    store.inject(model: Pair(first: [1], second: [2]))
    #expect(store.model.second == [2] && store.version == 2)
  }

  @Test func areWholeWhileManyThreadsReadAndCommit() async {
    let store = makeStore()
    let readers = (0..<4).map { _ in
      Task.detached {
        var last = 0
        for _ in 0..<10_000 {
          let model = store.model
          #expect(model.first == model.second && model.first[0] >= last)
          last = model.first[0]
        }
      }
    }
    let writers = (0..<2).map { _ in
      Task.detached {
        for _ in 0..<5_000 {
          store.updateModel { pair in
            pair.first[0] += 1
            pair.second[0] += 1
          }
        }
      }
    }
    for task in readers + writers { await task.value }
    #expect(store.model.first == [10_000])
  }

  @Test func keepNoModelThatWasReplaced() {
    let deaths = EventCount(of: 10)
    let store = Store<Mortal?, Step>(model: nil, reads: .published, reducer: Reducer())
    for _ in 0..<10 { store.inject(model: Mortal(deaths)) }
    #expect(deaths.count == 9)
    store.inject(model: nil)
    #expect(deaths.count == 10)
  }
}
