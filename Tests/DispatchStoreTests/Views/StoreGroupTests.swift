import DispatchStore
import DispatchStoreTesting
import Foundation
import Synchronization
import Testing

/// Observers of several stores.
@Suite(.timeLimit(.minutes(10)))
struct StoreGroupTests {
  typealias Seen = (counts: [Int], versions: [UInt64], dispatchID: DispatchID?)

  @Test(arguments: Dispatcher.Mode.everyMode, [OperationStyle.returning, .suspending, .applying])
  func oneCallForADispatchAfterAllOfItsStores(
    _ mode: Dispatcher.Mode, _ style: OperationStyle
  ) async {
    let pair = PairedStores(style: style)
    let seen = Recorder<Seen>()
    let token = StoreGroup(pair.left, pair.right).observe { change in
      let (left, right) = change.value.models
      pair.events.record("view \(left) \(right)")
      seen.record(([left, right], change.value.versions, change.dispatchID))
    }
    let handle = pair.dispatcher.dispatch(action: Ping(), mode: mode) {
      pair.events.record("completion")
    }
    await handle.ended()
    #expect(
      pair.events.all == ["+left", "-left", "+right", "-right", "view 1 1", "completion"])
    #expect(seen.all.map(\.dispatchID) == [handle.dispatchID])
    #expect(seen.all.map(\.versions) == [[1, 1]])
    token.cancel()
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func oneCallWhereAStoreChangesSeveralTimesOrTheDispatchFails(_ mode: Dispatcher.Mode) async {
    let pair = PairedStores(fails: true)
    let seen = Recorder<[Int]>()
    let group = StoreGroup(pair.left, pair.right)
    let token = group.observe { change in
      seen.record([change.value.models.0, change.value.models.1])
    }
    let extra = pair.dispatcher.register(
      store: ProbeStore(
        model: 0,
        reducer: ApplyingReducer { _, _ in
          for _ in 0..<3 { pair.left.updateModel { $0 += 1 } }
        }))
    let result = await pair.dispatcher.dispatch(action: Ping(), mode: mode).result
    #expect(!result.isSuccess)
    #expect(seen.all == [[4, 1]])
    withExtendedLifetime((token, extra)) {}
  }

  @Test func aChangeOutsideADispatchIsACallAtOnce() {
    let pair = PairedStores()
    let seen = Recorder<Seen>()
    let token = StoreGroup(pair.left, pair.right).observe(initial: true) { change in
      seen.record(
        ([change.value.models.0, change.value.models.1], change.value.versions, change.dispatchID))
    }
    #expect(seen.all.map(\.counts) == [[0, 0]])
    pair.left.updateModel { $0 = 7 }
    #expect(seen.all.map(\.counts) == [[0, 0], [7, 0]])
    pair.right.inject(model: 8)
    #expect(seen.all.map(\.counts) == [[0, 0], [7, 0], [7, 8]])
    #expect(seen.all.allSatisfy { $0.dispatchID == nil })
    token.cancel()
    pair.left.updateModel { $0 = 9 }
    #expect(seen.count == 3)
  }

  @Test func noCallBeginsAfterTheTokenWasCancelledInOneOfSeveralCalls() {
    let (pair, queue) = (PairedStores(), DispatchQueue(label: "view"))
    let (calls, tokens) = (Recorder<UInt64>(), Recorder<ObserverToken>())
    queue.suspend()
    let observation = StoreGroup(pair.left, pair.right).observe(on: .queue(queue)) { change in
      calls.record(change.version)
      tokens.all[0].cancel()
    }
    tokens.record(observation)
    for _ in 0..<3 { pair.left.updateModel { $0 += 1 } }
    queue.resume()
    queue.sync {}
    #expect(calls.all == [1])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func noCallForADispatchThatChangesNoStoreOfTheGroup(_ mode: Dispatcher.Mode) async {
    let pair = PairedStores()
    let other = pair.dispatcher.register(store: CounterStore.counter())
    let seen = Recorder<UInt64>()
    let token = StoreGroup(pair.left, pair.right).observe { change in
      seen.record(change.value.versions[0])
    }
    await other.dispatch(.add(1), mode: mode).ended()
    #expect(seen.count == 0)
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func eachActionOfASequenceAndEachNestedDispatchIsACall(_ mode: Dispatcher.Mode) async {
    let equal = EqualStores()
    let seen = Recorder<DispatchID?>()
    let token = StoreGroup(equal.left, equal.right).observe { change in
      seen.record(change.dispatchID)
    }
    let actions = (1...3).map { CounterAction.add($0) }
    await equal.dispatcher.dispatch(actions: actions, mode: mode).ended()
    #expect(seen.count == 3)
    #expect(Set(seen.all).count == 3)
    let outer = equal.dispatcher.register(
      store: ProbeStore(
        model: 0,
        reducer: ApplyingReducer { _, store in
          equal.dispatcher.dispatch(action: CounterAction.add(1), mode: .sync)
          #expect(seen.count == 4, "the nested dispatch has ended")
          equal.left.updateModel { $0.count += 1 }
        }))
    let handle = outer.dispatch(Ping(), mode: mode)
    await handle.ended()
    #expect(seen.count == 5)
    #expect(seen.all.last == handle.dispatchID)
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func theObserverMayDispatchInEveryMode(_ mode: Dispatcher.Mode) async {
    let equal = EqualStores()
    let handles = Recorder<DispatchHandle>()
    let counts = Recorder<Int>()
    let token = StoreGroup(equal.left, equal.right).observe { change in
      let count = change.value.models.0.count
      counts.record(count)
      guard count < 3 else { return }
      handles.record(equal.dispatcher.dispatch(action: CounterAction.add(1), mode: mode))
    }
    await equal.dispatcher.dispatch(action: CounterAction.add(1), mode: mode).ended()
    _ = await counts.first(3)
    for handle in await handles.first(2) { await handle.ended() }
    #expect(counts.all == [1, 2, 3])
    #expect(equal.right.model.count == 3)
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Way.all.filter { $0.mode != .sync && $0.mode != .serial })
  func noDispatchWaitsWhileAnotherThreadCallsTheObserver(way: Way) async {
    let pair = PairedStores()
    let (seen, free) = (Recorder<DispatchID?>(), Latch())
    let token = StoreGroup(pair.left, pair.right).observe { change in
      seen.record(change.dispatchID)
      if seen.count == 1 { free.wait() }
    }
    let first = pair.left.dispatch(Ping(), mode: .serial)
    _ = await seen.first(1)
    let result: DispatchResult
    if way.sends {
      result = await pair.right.send(Ping(), mode: way.mode).result
    } else {
      let second = pair.right.dispatch(Ping(), mode: way.mode)
      result = await second.result
    }
    #expect(result.isSuccess)
    #expect(seen.all == [first.dispatchID])
    free.open()
    #expect(await seen.first(2) == [first.dispatchID, result.dispatchID])
    token.cancel()
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func aDispatchThatEndsAtItsDeadlineCompletesBeforeTheCall(mode: Dispatcher.Mode) async {
    let clock = VirtualClock()
    let dispatcher = Dispatcher(clock: clock)
    let (committed, free) = (Latch(), Latch())
    let store = dispatcher.register(
      store: ProbeStore(
        identifier: "slow", model: 0,
        reducer: ClosureReducer { action, store in
          ActionOperation(action: action, store: store) { _, store async in
            store.updateModel { $0 += 1 }
            committed.open()
            await free.opened()
          }
        }))
    let (seen, completed) = (Recorder<DispatchID?>(), Recorder<Int>())
    let token = StoreGroup(store).observe { seen.record($0.dispatchID) }
    let handle = store.dispatch(Ping(), mode: mode, options: .timeout(.seconds(1))) { _ in
      completed.record(seen.count)
    }
    await committed.opened()
    await clock.pass(.seconds(1))
    #expect(await completed.first(1) == [0])
    free.open()
    #expect(await seen.first(1) == [handle.dispatchID])
    token.cancel()
  }

  /// A change that was left to a notifier, which waits: its dispatch goes on, and ends meanwhile.
  @Test(arguments: Dispatcher.Mode.offMainModes)
  func anObserversCommitIsACallAlsoIfTheDispatchOfItsChangeHasEnded(mode: Dispatcher.Mode) async {
    let dispatcher = Dispatcher()
    let (entered, proceed, committed) = (Latch(), Latch(), Latch())
    let (completed, returned) = (Latch(), Latch())
    let stage = dispatcher.register(
      store: ProbeStore(
        identifier: "stage", model: 0,
        reducer: ClosureReducer { action, store in
          ActionOperation(action: action, store: store) { _, store async in
            store.updateModel { $0 += 1 }
            committed.open()
          }
        }))
    let slow = dispatcher.register(
      store: ProbeStore(
        identifier: "slow", model: 0,
        reducer: ClosureReducer { action, store in
          ActionOperation(action: action, store: store) { _, _ async in await completed.opened() }
        }))
    let mate = dispatcher.register(store: CounterStore.counter("mate"))
    let group = StoreGroup(stage, mate)
    let seen = Recorder<DispatchID?>()
    let tokens = [
      group.observe { seen.record($0.dispatchID) },
      stage.observe(.model) { change in
        if change.version == 1 {
          entered.open()
          proceed.wait()
        } else {
          slow.dispatch(Ping(), mode: .async).wait()
          mate.updateModel { $0.count += 1 }
        }
      },
    ]
    let notifier = Thread {
      stage.updateModel { $0 += 1 }
      returned.open()
    }
    notifier.start()
    await entered.opened()
    let handle = stage.dispatch(Ping(), mode: mode) { _ in completed.open() }
    await committed.opened()
    proceed.open()
    await returned.opened()
    #expect(mate.version == 1)
    #expect(seen.all == [nil, handle.dispatchID, nil])
    #expect(group.snapshot().dispatchesUnderWay == [])
    withExtendedLifetime(tokens) {}
  }

  @Test func onceForEachOfManyContendingDispatches() async {
    let equal = EqualStores()
    let seen = Recorder<DispatchID?>()
    let versions = Recorder<[UInt64]>()
    let inside = NSLock()
    let token = StoreGroup(equal.left, equal.right).observe { change in
      let isAlone = inside.try()
      #expect(isAlone)
      seen.record(change.dispatchID)
      versions.record(change.value.versions)
      if isAlone { inside.unlock() }
    }
    let (threads, each) = (4, Load.count(200))
    let handles = Recorder<DispatchHandle>()
    let modes: [Dispatcher.Mode] = [.async, .serial, .sync, .serial(lane: "named")]
    await onOwnThreads(threads) { index in
      for _ in 0..<each {
        handles.record(
          equal.dispatcher.dispatch(action: CounterAction.add(1), mode: modes[index]))
      }
    }
    for handle in handles.all { await handle.ended() }
    _ = await seen.first(threads * each)
    #expect(Set(seen.all.compactMap { $0 }) == Set(handles.all.map(\.dispatchID)))
    #expect(seen.count == threads * each)
    for (former, next) in zip(versions.all, versions.all.dropFirst()) {
      #expect(zip(former, next).allSatisfy { $0 <= $1 })
    }
    #expect(versions.all.last == [UInt64(threads * each), UInt64(threads * each)])
    withExtendedLifetime(token) {}
  }

  @Test func onAQueueOnceForEachDispatchInOrder() async {
    let equal = EqualStores()
    let queue = DispatchQueue(label: "views", attributes: .concurrent)
    let (seen, onMain) = (Recorder<DispatchID?>(), Recorder<Bool>())
    let group = StoreGroup(equal.left, equal.right)
    let tokens = [
      group.observe(on: .queue(queue)) { seen.record($0.dispatchID) },
      group.observe(on: .queue(.main)) { _ in onMain.record(Here.isMainQueue) },
    ]
    var handles: [DispatchHandle] = []
    for _ in 0..<20 {
      handles.append(equal.dispatcher.dispatch(action: CounterAction.add(1), mode: .serial))
    }
    #expect(await seen.first(20) == handles.map(\.dispatchID))
    #expect(await onMain.first(20).allSatisfy { $0 })
    withExtendedLifetime(tokens) {}
  }

  @Test func aStoreMayBeInSeveralGroupsAndTwiceInOne() async {
    let pair = PairedStores()
    let calls = Recorder<String>()
    let tokens = [
      StoreGroup(pair.left, pair.left).observe { change in
        calls.record("twice \(change.value.models.0) \(change.value.models.1)")
      },
      StoreGroup(pair.left, pair.right).observe { calls.record("\($0.value.versions)") },
    ]
    await pair.dispatcher.dispatch(action: Ping(), mode: .serial).ended()
    #expect(calls.all.sorted() == ["[1, 1]", "twice 1 1"])
    withExtendedLifetime(tokens) {}
  }
}
