import Foundation
import Testing

@testable import DispatchStore

@Suite("Names of dispatches", .timeLimit(.minutes(10)))
struct NameTests {
  let dispatcher = makeStage().dispatcher
  let log = Recorder<String>()

  private func holds(until latch: Latch) -> Script { .holds(in: log, until: latch) }

  @Test(arguments: Way.all)
  func cancelsWhatRunsUnderIt(_ way: Way) async {
    let script = holds(until: Latch())
    let task = dispatcher.begin(script, way.mode, .named("upload"), sends: way.sends)
    _ = await log.first(1)
    #expect(dispatcher.dispatches(named: "upload").count == 1)
    #expect(dispatcher.cancel(named: "other") == 0)
    #expect(dispatcher.cancel(named: "upload") == 1)
    #expect(await task.value["stage"].isCancelled == true)
    #expect(dispatcher.dispatches(named: "upload").isEmpty)
    #expect(dispatcher.cancel(named: "upload") == 0)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func cancelsWhatWaitsUnderItAndNothingElse(_ mode: Dispatcher.Mode) async {
    let (free, log) = (Latch(), log)
    let holder = dispatcher.dispatch(action: holds(until: free), mode: mode, options: .named(1))
    let waiting = (0..<3).map { _ in
      dispatcher.dispatch(
        action: Script.runs { _ in log.record("ran") }, mode: mode, options: .named(2))
    }
    let sequence = dispatcher.dispatch(
      actions: [Script.runs { _ in log.record("ran") }], mode: mode, options: .named(2))
    #expect(dispatcher.dispatches(named: 2) == waiting + [sequence])
    #expect(dispatcher.cancel(named: 2) == 4)
    for handle in waiting { #expect(await handle.result["stage"].isCancelled == true) }
    #expect(await sequence.result.error is CancellationError)
    #expect(!holder.hasEnded)
    free.open()
    #expect(await holder.result.isSuccess)
    #expect(!log.all.contains("ran"))
  }

  /// Its record may have been used before, in a lane that is gone.
  @Test func findADispatchBeforeItHasALaneAndNoFormerLaneOfItsRecord() async {
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    for index in 0..<Load.count(5_000) {
      counter.dispatch(.add(1), mode: .serial(lane: index % 100))
    }
    let (dispatcher, schedulers, free) = (dispatcher, Recorder<Bool>(), Latch())
    let holder = dispatcher.dispatch(
      action: holds(until: free), mode: .serial(lane: Namesake(number: 0) {}))
    for number in 1...100 {
      // Compared with the lane that is held, as both have one hash.
      let lane = Namesake(number: number) {
        for handle in dispatcher.dispatches(named: "found") {
          schedulers.record(handle.dispatch!.queuedAt === CallerThread.any)
        }
        dispatcher.cancel(named: "found")
      }
      let handle = dispatcher.dispatch(
        storeIdentifier: "counter", action: CounterAction.add(1), mode: .serial(lane: lane),
        options: .named("found"))
      #expect(await handle.result["counter"].isCancelled == true)
    }
    #expect(schedulers.count >= 100)
    #expect(!schedulers.all.contains(false))
    free.open()
    await holder.ended()
  }

  @Test func compareByTypeAndValue() async {
    let free = Latch()
    let handle = dispatcher.dispatch(action: holds(until: free), options: .named(1))
    #expect(dispatcher.dispatches(named: 1.0).isEmpty)
    #expect(dispatcher.dispatches(named: UInt8(1)).isEmpty)
    #expect(dispatcher.dispatches(named: 1) == [handle])
    #expect(Dispatcher().dispatches(named: 1).isEmpty)
    free.open()
    await handle.ended()
  }

  @Test func severalOfOneDispatchEachFindIt() async {
    let free = Latch()
    let handle = dispatcher.dispatch(
      action: holds(until: free), options: [.after(), .named("user 1"), .named("upload")])
    #expect(dispatcher.dispatches(named: "user 1") == [handle])
    #expect(dispatcher.dispatches(named: "upload") == [handle])
    free.open()
    await handle.ended()
    #expect(dispatcher.dispatches(named: "user 1") + dispatcher.dispatches(named: "upload") == [])
  }

  @Test func endWithWhatTheyNameInWhicheverOrder() async {
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    let rounds = Load.count(2_000)
    await withTaskGroup { group in
      for producer in 0..<4 {
        group.addTask { [dispatcher] in
          for round in 0..<rounds {
            let options = DispatchOptions.named(round % 3)
            if producer == 0 {
              await dispatcher.send(CounterAction.add(1), mode: .serial, options: options)
            } else {
              dispatcher.dispatch(
                action: CounterAction.add(1), mode: producer == 1 ? .sync : .serial,
                options: options)
            }
          }
        }
      }
    }
    await dispatcher.dispatch(action: CounterAction.add(0), mode: .serial).ended()
    #expect(counter.model.count == 4 * rounds)
    for name in 0..<3 { #expect(dispatcher.dispatches(named: name).isEmpty) }
  }

  @Test func ofADispatchFromAnExclusiveSectionIsThereWhenThatIsLeft() async {
    let (dispatcher, held) = (dispatcher, holds(until: Latch()))
    let store = dispatcher.register(store: CounterStore.counter("counter"))
    store.updateModel { _ in
      dispatcher.dispatch(action: held, options: .named("inside"))
    }
    #expect(dispatcher.dispatches(named: "inside").count == 1)
    dispatcher.cancel(named: "inside")
  }

  /// Linear: minutes, if each insertion copied those that are there.
  @Test func manyInFlightHaveOneName() async {
    let (free, count) = (Latch(), Load.count(20_000, long: 100_000))
    dispatcher.dispatch(action: holds(until: free), mode: .serial)
    for _ in 0..<count {
      dispatcher.dispatch(action: CounterAction.add(1), mode: .serial, options: .named("all"))
    }
    #expect(dispatcher.dispatches(named: "all").count == count)
    free.open()
    await dispatcher.dispatch(action: CounterAction.add(0), mode: .serial).ended()
    #expect(dispatcher.dispatches(named: "all").isEmpty)
  }

  @Test func equalHashesAreNotEqualNames() async {
    let free = Latch()
    let handles = (0..<4).map { number in
      dispatcher.dispatch(action: holds(until: free), options: .named(Twin(number: number)))
    }
    for number in 0..<4 {
      #expect(dispatcher.dispatches(named: Twin(number: number)) == [handles[number]])
    }
    free.open()
    for handle in handles { await handle.ended() }
    #expect(dispatcher.dispatches(named: Twin(number: 0)).isEmpty)
  }

  /// Each waits for the one before it; nobody waits for them, so none of them is searched for deadlocks.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aLongChainIsMadeInLinearTime(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let first = dispatcher.dispatch(action: holds(until: free))
    var last = first
    for number in 0..<Load.count(5_000, long: 20_000) {
      last = dispatcher.dispatch(
        action: Script.adds("a"), mode: mode,
        options: [.after(last), .named(number), .idempotencyKey(number, remembered: .zero)])
    }
    free.open()
    #expect(await last.result.isSuccess)
  }
}

/// All have the same hash.
struct Twin: Hashable {
  let number: Int

  func hash(into hasher: inout Hasher) {}
}

/// Lanes that are told apart by the program's code.
private struct Namesake: Hashable, Sendable {
  let number: Int
  let whenCompared: @Sendable () -> Void

  static func == (one: Namesake, other: Namesake) -> Bool {
    one.whenCompared()
    other.whenCompared()
    return one.number == other.number
  }

  func hash(into hasher: inout Hasher) {
    hasher.combine(0)
  }
}
