import Foundation
import Synchronization
import Testing

@testable import DispatchStore

/// Snapshots of several stores at one instant.
@Suite(.timeLimit(.minutes(10)))
struct StoreSnapshotTests {
  @Test func hasModelsAndVersionsInTheOrderOfTheStores() {
    let dispatcher = Dispatcher()
    let (number, counter) = (ProbeStore.probe("number"), CounterStore.counter())
    number.updateModel { $0 = 4 }
    let snapshot = dispatcher.snapshot(number, counter, number)
    #expect(snapshot.models.0 == 4)
    #expect(snapshot.models.1 == Counter())
    #expect(snapshot.models.2 == 4)
    #expect(snapshot.versions == [1, 0, 1])
    #expect(snapshot.dispatchesUnderWay == nil)
  }

  /// With no attempt, each snapshot is taken under the locks of all stores.
  @Test(arguments: [3, 0])
  func isOfOneInstantWhileOtherThreadsChangeTheStores(_ attempts: Int) async {
    let (first, second) = (ProbeStore.probe("first"), ProbeStore.probe("second"))
    let end = Load.count(20_000)
    let tuples = (StoreTuple(first, second), StoreTuple(second, first))
    let broken = Recorder<[Int]>()
    await onOwnThreads(4) { index in
      if index == 0 {
        // At each instant both are equal, or the first one is ahead by one.
        for count in 1...end {
          first.updateModel { $0 = count }
          second.updateModel { $0 = count }
        }
        return
      }
      var last = 0
      while last < end {
        let snapshot = (index == 1 ? tuples.0 : tuples.1).snapshot(attempts: attempts) { nil }
        let (one, two) = index == 1 ? snapshot.models : (snapshot.models.1, snapshot.models.0)
        let versions = index == 1 ? snapshot.versions : snapshot.versions.reversed()
        if !(one == two || one == two + 1) || versions != [UInt64(one), UInt64(two)] || two < last {
          broken.record([one, two, last])
        }
        last = two
      }
    }
    #expect(broken.all == [])
  }

  @Test func isTakenWhereTheStoresChangeWithoutEnd() async {
    let (first, second) = (ProbeStore.probe("first"), ProbeStore.probe("second"))
    let isDone = Atomic(false)
    await onOwnThreads(3) { index in
      if index == 0 {
        for _ in 0..<Load.count(2_000) { _ = StoreTuple(first, second).snapshot { nil } }
        isDone.store(true, ordering: .releasing)
      }
      while !isDone.load(ordering: .acquiring) {
        (index == 1 ? first : second).updateModel { $0 += 1 }
      }
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func namesTheDispatchesThatHaveChangedAStoreAndNotEnded(_ mode: Dispatcher.Mode) async {
    let (reached, goOn) = (Latch(), Latch())
    let dispatcher = Dispatcher()
    let left = dispatcher.register(store: CounterStore.counter("left"))
    let right = dispatcher.register(
      store: Store<Int, CounterAction>(
        identifier: "right", model: 0,
        reducer: ClosureReducer { action, store in
          ActionOperation(action: action, store: store) { _, store in
            reached.open()
            await goOn.opened()
            store.updateModel { $0 += 1 }
          }
        }), waitFor: [left])
    let group = StoreGroup(left, right)
    #expect(group.snapshot().dispatchesUnderWay == [])
    let handles = Recorder<DispatchHandle>()
    async let dispatching: Void = onOwnThread {
      handles.record(dispatcher.dispatch(action: CounterAction.add(1), mode: mode))
    }
    await reached.opened()
    let between = group.snapshot()
    #expect(between.models.0.count == 1)
    #expect(between.models.1 == 0)
    goOn.open()
    await dispatching
    let handle = handles.all[0]
    await handle.ended()
    #expect(between.dispatchesUnderWay == [handle.dispatchID])
    let settled = group.snapshot()
    #expect(settled.versions == [1, 1])
    #expect(settled.dispatchesUnderWay == [])
  }

  /// Minutes, if each snapshot sorted them.
  @Test(.timeLimit(.minutes(1)))
  func costsTheSameHoweverManyDispatchesAreUnderWay() {
    let (store, notices) = (ProbeStore.probe("store"), StoreGroupNotices())
    let dispatches = (0..<Load.count(5_000, long: 50_000)).map { _ in
      Dispatch(standIn: .make(on: .current), at: CallSite(#fileID, #line))
    }
    for dispatch in dispatches { notices.changes(by: dispatch) }
    let first = StoreTuple(store).snapshot { notices.dispatchesUnderWay }
    #expect(first.dispatchesUnderWay == dispatches.map(\.id))
    for dispatch in dispatches {
      dispatch.makeDetails().storesEnded()
      _ = StoreTuple(store).snapshot { notices.dispatchesUnderWay }
    }
    #expect(notices.dispatchesUnderWay.isEmpty)
  }

  @Test func isWholeWhereNoDispatchIsUnderWay() async {
    let equal = EqualStores()
    let group = StoreGroup(equal.left, equal.right)
    let (threads, each) = (3, Load.count(300))
    let halves = Recorder<[Int]>()
    await onOwnThreads(threads + 1) { index in
      guard index == threads else {
        for _ in 0..<each {
          equal.dispatcher.dispatch(action: CounterAction.add(1), mode: .sync)
        }
        return
      }
      while true {
        let snapshot = group.snapshot()
        let (left, right) = (snapshot.models.0.count, snapshot.models.1.count)
        if snapshot.dispatchesUnderWay == [], left != right { halves.record([left, right]) }
        if right == threads * each { break }
      }
    }
    #expect(halves.all == [])
    #expect(group.snapshot().dispatchesUnderWay == [])
  }

  /// What a lane's action takes is settled for the dispatches of that lane.
  @Test func inAnActionOnTheLaneIsSettled() async {
    let equal = EqualStores()
    let seen = Recorder<[Int]>()
    let taker = equal.dispatcher.register(
      store: ProbeStore(
        model: 0,
        reducer: ApplyingReducer { _, _ in
          let models = equal.dispatcher.snapshot(equal.left, equal.right).models
          seen.record([models.0.count, models.1.count])
        }))
    for _ in 0..<50 {
      equal.dispatcher.dispatch(action: CounterAction.add(1), mode: .serial)
      taker.dispatch(Ping(), mode: .serial)
    }
    #expect(await seen.first(50) == (1...50).map { [$0, $0] })
  }

  @Test func aGroupThatGoesLeavesItsStoresUnobserved() {
    let equal = EqualStores()
    do {
      let group = StoreGroup(equal.left, equal.right)
      #expect(equal.left.storage.isObserved)
      _ = group.snapshot()
    }
    #expect(!equal.left.storage.isObserved && !equal.right.storage.isObserved)
  }
}
