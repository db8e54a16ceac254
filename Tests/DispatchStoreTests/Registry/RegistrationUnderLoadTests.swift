import DispatchStore
import Foundation
import Synchronization
import Testing

@Suite("Registration under load", .serialized, .timeLimit(.minutes(10)))
struct RegistrationUnderLoadTests {
  private struct Dispatched: Sendable {
    var toStage: [DispatchHandle] = []
    /// With the store that had been registered last at that time.
    var toNewest: [(name: String, handle: DispatchHandle)] = []
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aDispatchingThreadSeesEachStoreFromTheMomentThatItIsRegistered(
    _ mode: Dispatcher.Mode
  ) async {
    let (dispatcher, total) = (Dispatcher(), Load.count(10_000))
    let stage = dispatcher.addStage()
    let (registered, dispatched) = (Registered(), Recorder<Dispatched>())
    await onOwnThreads(2) { thread in
      if thread == 0 {
        for index in 0..<total {
          dispatcher.register(store: .counter("\(index)"))
          registered.count.store(index + 1, ordering: .releasing)
        }
      } else {
        dispatched.record(Self.dispatch(to: registered, until: total, in: dispatcher, mode: mode))
      }
    }
    let all = dispatched.all[0]
    for handle in all.toStage { #expect(await handle.result["stage"].isFinished == true) }
    for (name, handle) in all.toNewest {
      #expect(await handle.result[name].isFinished == true)
    }
    #expect(stage.version == UInt64(all.toStage.count))
    #expect(dispatcher.stores.count == total + 1)
    #expect((0..<total).allSatisfy { dispatcher.store(with: "\($0)") is CounterStore })
  }

  @Test(arguments: [false, true])
  func aStoreGetsTheNextDispatchWhoeverRegistersBesideIt(waits: Bool) async {
    let dispatcher = Dispatcher()
    let missed = Atomic(0)
    let stage = dispatcher.addStage()
    await onOwnThreads(8) { thread in
      for round in 0..<Load.count(2_000) {
        let own = dispatcher.register(
          store: .counter("\(thread)-\(round)"), waitFor: waits ? [stage] : [])
        dispatcher.dispatch(action: CounterAction.add(1), mode: .sync)
        if own.version == 0 { missed.add(1, ordering: .relaxed) }
        dispatcher.unregister(store: own)
      }
    }
    #expect(missed.load(ordering: .relaxed) == 0)
  }

  private static func dispatch(
    to registered: Registered, until total: Int, in dispatcher: Dispatcher, mode: Dispatcher.Mode
  ) -> Dispatched {
    var dispatched = Dispatched()
    var last = 0
    while last < total {
      let count = registered.count.load(ordering: .acquiring)
      guard count > last else {
        sched_yield()
        continue
      }
      last = count
      let name = "\(count - 1)"
      dispatched.toNewest.append(
        (
          name,
          dispatcher.dispatch(storeIdentifier: name, action: CounterAction.add(1), mode: mode)
        ))
      dispatched.toStage.append(dispatcher.dispatch(action: Script.adds("on"), mode: mode))
    }
    return dispatched
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aThreadSeesWhatItRegisteredAndNoLongerWhatItUnregistered(_ mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    await onOwnThreads(4) { thread in
      for round in 0..<Load.count(100) {
        let name = "\(thread) \(round)"
        let store = dispatcher.register(store: .counter(name))
        let seen = dispatcher.dispatch(
          storeIdentifier: name, action: CounterAction.add(1), mode: mode)
        dispatcher.unregister(store: store)
        let unseen = dispatcher.dispatch(
          storeIdentifier: name, action: CounterAction.add(1), mode: mode)
        let results = awaitOnThread(seen, unseen)
        #expect(results[0][name].isFinished == true)
        #expect(!results[1].hasResponders)
        #expect(store.model.count == 1)
      }
    }
    #expect(dispatcher.stores.isEmpty)
  }
}

private final class Registered: Sendable {
  let count = Atomic(0)
}

/// Blocks the thread until these have ended.
private func awaitOnThread(_ handles: DispatchHandle...) -> [DispatchResult] {
  let results = Recorder<[DispatchResult]>()
  Task {
    var all: [DispatchResult] = []
    for handle in handles { all.append(await handle.result) }
    results.record(all)
  }
  results.waitFor(1)
  return results.all[0]
}
