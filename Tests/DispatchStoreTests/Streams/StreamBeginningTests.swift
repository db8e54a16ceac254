import DispatchStoreTesting
import Testing

@testable import DispatchStore

/// When a stream begins, and when its consumer has caught up.
@Suite(.timeLimit(.minutes(5)))
struct StreamBeginningTests {
  private let dispatcher = Dispatcher(name: "beginning")
  private let store = ParcelStore.parcels()

  @Test func aStreamGetsWhatIsCommittedBeforeItsTaskRuns() async {
    dispatcher.register(store: store)
    let task = Task { [parcels = store.stream(.deltas(\.parcels))] in
      var copy: [Int: Parcel] = [:]
      for await change in parcels {
        change.value.apply(to: &copy)
        if copy[29] != nil { break }
      }
      return copy
    }
    for id in 1...29 { await store.send(.put(id, id)) }
    #expect(await task.value == store.model.parcels.dictionary)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aSuspendingStreamThatNobodyIteratesHoldsNobodyUp(mode: Dispatcher.Mode) async {
    let store = dispatcher.register(store: CounterStore.counter("counter"))
    let changes = store.stream(.part(\.count), buffering: .suspending(0))
    let iterator = store.stream(.part(\.count), buffering: .suspending(0)).makeAsyncIterator()
    for _ in 1...10 { await store.dispatch(.add(1), mode: mode).ended() }
    await store.send(.add(1))
    await onOwnThread { store.updateModel { $0.count += 1 } }
    var begun = changes.makeAsyncIterator()
    for count in 1...12 { #expect(await begun.next()?.value == count) }
    withExtendedLifetime(iterator) {}
  }

  @Test func releasingAStreamThatNobodyIteratesEndsIt() async {
    let released = Latch()
    func make() {
      let signal = Mortal(released)
      let stream = store.stream(
        .select(StateSelector { book in withExtendedLifetime(signal) { book.note } }))
      store.updateModel { $0.note = "kept" }
      withExtendedLifetime(stream) {}
    }
    make()
    await released.opened()
    await store.streamsCaughtUp()
  }

  @Test func caughtUpConsumersHaveDealtWithAllCommits() async {
    let (dealt, goOn) = (Recorder<Int>(), Latch())
    let consumers = [StreamBuffering.newest(1), .unbounded, .suspending(3)].map { buffering in
      Task { [parcels = store.stream(.element(\.parcels, 1), buffering: buffering)] in
        for await change in parcels {
          await goOn.opened()
          dealt.record(change.value?.amount ?? 0)
        }
      }
    }
    for amount in 1...50 { store.updateModel { $0.put(1, amount) } }
    let waits = Task { [store] in
      await store.streamsCaughtUp()
      return dealt.all.count { $0 == 50 }
    }
    goOn.open()
    #expect(await waits.value == 3)
    for consumer in consumers { consumer.cancel() }
    for consumer in consumers { await consumer.value }
    await store.streamsCaughtUp()
  }

  /// It asks for more while the delta that is kept for it is merged with the next one.
  @Test func aConsumerHasNotDealtWithADeltaThatIsBeingMerged() async {
    let (began, free, dealt) = (Latch(), Latch(), Recorder<Int>())
    let level: @Sendable (Int) -> Level = { Level(height: $0, began: began, free: free) }
    let store = Store<Levels, Ping>(
      identifier: "levels", model: Levels(all: [0: level(0)]), reducer: Reducer())
    let deltas = store.stream(.deltas(\.all))
    store.updateModel { $0.all[0] = level(1) }
    let catchUp = CatchUp(with: [store.storage])
    let merging = Task { await onOwnThread { store.updateModel { $0.all[0] = level(2) } } }
    await began.opened()
    let consumer = Task.immediate {
      for await change in deltas {
        dealt.record(change.value.changed[0]?.new.height ?? 0)
        break
      }
    }
    #expect(!catchUp.isComplete.isSet)
    free.open()
    await catchUp.wait()
    #expect(dealt.all == [2])
    await consumer.value
    await merging.value
  }

  @Test func aWaitForConsumersEndsWithItsTask() async {
    let stream = store.stream(.model, initial: true)
    let wait = Task { [store] in await store.streamsCaughtUp() }
    wait.cancel()
    await wait.value
    withExtendedLifetime(stream) {}
  }

  @Test func aDrainMayIncludeTheConsumers() async {
    let store = dispatcher.register(store: CounterStore.counter("counter"))
    let dealt = Recorder<Int>()
    let consumer = Task { [counts = store.stream(.part(\.count), buffering: .unbounded)] in
      for await change in counts {
        await Task.yield()
        dealt.record(change.value)
      }
    }
    for _ in 1...100 { store.dispatch(.add(1), mode: .serial) }
    let report = await dispatcher.drain(includingStreams: true)
    #expect(report.isComplete && dealt.all == Array(1...100))
    consumer.cancel()
  }

  @Test func aDrainReportsThatStreamsLag() async {
    let store = dispatcher.register(store: CounterStore.counter("counter"))
    let stream = store.stream(.part(\.count))
    await store.send(.add(1))
    #expect(await dispatcher.drain(timeout: .milliseconds(1)).isComplete)
    let report = await dispatcher.drain(timeout: .milliseconds(1), includingStreams: true)
    #expect(!report.isComplete)
    withExtendedLifetime(stream) {}
  }
}

private struct Levels: Sendable {
  var all: [Int: Level]
}

/// A height whose comparison with one that is two away waits: only merged deltas compare these.
private struct Level: Equatable, Sendable {
  let height: Int
  let began: Latch
  let free: Latch

  static func == (one: Self, other: Self) -> Bool {
    if abs(one.height - other.height) == 2 {
      one.began.open()
      one.free.wait()
    }
    return one.height == other.height
  }
}
