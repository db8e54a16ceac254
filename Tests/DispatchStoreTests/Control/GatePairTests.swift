import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// Exclusion keys and conditions, each with another control.
@Suite("Exclusion and conditions: pairs", .timeLimit(.minutes(10)))
struct GatePairTests {
  let it = GateStage()
  let stock = Store<Int, Ping>.probe("stock")

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func exclusionAndRetryTheKeysAreHeldInThePause(_ mode: Dispatcher.Mode) async {
    let attempts = Recorder<Int>()
    let retried = it.run(
      .runs { [it] _ in
        attempts.record(0)
        it.log.record("attempt")
        if attempts.count == 1 { throw StageFright() }
      }, mode, [.exclusive("a"), .retry(attempts: 2, backoff: .constant(.seconds(1)))])
    await it.clock.waitForSleepers(atLeast: 1)
    let other = it.run(it.notes("other"), .serial(lane: "other"), .exclusive("a"))
    #expect(await it.run(it.notes("beside"), .serial(lane: "b"), .init()).value.isSuccess)
    it.clock.advance(by: .seconds(1))
    for task in [retried, other] { #expect(await task.value.isSuccess) }
    #expect(it.log.all == ["attempt", "beside", "attempt", "other"])
  }

  /// The stores of a dispatch have its keys until the last of them has ended.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func exclusionAndWaitForAllStoresOfADispatchRunWithIt(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (Dispatcher(), Recorder<String>())
    for style in OperationStyle.allCases {
      dispatcher.addProbe("\(style)", style: style, to: log)
    }
    dispatcher.addProbe(
      "last", waitFor: WaitFor(OperationStyle.allCases.map { "\($0)" }), style: .suspending,
      to: log)
    await withDiscardingTaskGroup { group in
      for index in 0..<4 {
        group.addTask {
          let handle = await onOwnThread {
            dispatcher.dispatch(
              action: Ping(), mode: index % 2 == 0 ? mode : .async, options: .exclusive("a"))
          }
          #expect(await handle.result.isSuccess)
        }
      }
    }
    let all = log.all
    #expect(all.count == 40)
    for start in stride(from: 0, to: 40, by: 10) {
      let one = all[start..<start + 10]
      #expect(Set(one).count == 10 && one.last == "-last", "\(one)")
    }
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func exclusionAndLatestTheNewestRunsAfterTheOldestHasEnded(_ mode: Dispatcher.Mode) async {
    let (it, free) = (it, Latch())
    let options = [.cancelsPrevious("search"), .exclusive("search")] as DispatchOptions
    let first = await it.begin("first", until: free, mode, options)
    let others = (0..<3).map { it.run(it.notes("\($0)"), mode, options) }
    for other in others.dropLast() { #expect(await other.value.error is CancellationError) }
    free.open()
    #expect(await others[2].value.isSuccess)
    _ = await first.value
    #expect(it.log.all == ["+first", "-first", "2"])
  }

  @Test func exclusionAndSuspensionNoneStartsAndSyncWaitsForItsTurn() async {
    let (it, free) = (it, Latch())
    it.dispatcher.queue.isSuspended = true
    let waiting = it.run(it.notes("waiting"), .serial, .exclusive("a"))
    // It has not had its turn: the key is free for those that need no queue.
    #expect(await it.run(it.notes("sync"), .sync, .exclusive("a")).value.isSuccess)
    let holder = await it.begin("main", until: free, .mainThread, .exclusive("a"))
    it.dispatcher.queue.isSuspended = false
    free.open()
    for task in [waiting, holder] { #expect(await task.value.isSuccess) }
    #expect(it.log.all == ["sync", "+main", "-main", "waiting"])
  }

  @Test func exclusionAndAfterTheKeyIsTakenOnceTheOthersHaveEnded() async {
    let (it, free) = (it, Latch())
    let before = it.dispatcher.dispatch(action: it.holds("before", until: free), mode: .async)
    for mode in Dispatcher.Mode.queuedModes {
      let waiting = it.dispatcher.dispatch(
        action: it.notes("after"), mode: mode,
        options: [.after(before), .exclusive("a")])
      #expect(!waiting.hasEnded)
    }
    #expect(await it.run(it.notes("key"), .async, .exclusive("a")).value.isSuccess)
    free.open()
    await before.ended()
    let all = await it.log.first(7)
    #expect(all.suffix(4) == ["after", "after", "after", "after"])
    #expect(all.firstIndex(of: "key")! < all.firstIndex(of: "-before")!)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func inheritanceAndExclusionOneThatWaitsEndsWithTheBlock(_ mode: Dispatcher.Mode) async {
    let (it, free, handles) = (it, Latch(), Recorder<DispatchHandle>())
    let holder = await it.begin("holder", until: free, .serial(lane: "holder"), .exclusive("a"))
    let block = it.dispatcher.addStage("outer")
    let outer = block.dispatch(
      .suspends { _ in
        handles.record(
          it.dispatcher.dispatch(
            storeIdentifier: "stage", action: it.notes("x"), mode: .async, options: .exclusive("a"))
        )
        let forever = Latch()
        await forever.openedOrCancelled()
        try Task.checkCancellation()
      }, mode: mode)
    let inner = await handles.first(1)[0]
    outer.cancel()
    #expect(await inner.result["stage"].isCancelled == true)
    await outer.ended()
    free.open()
    #expect(await holder.value.isSuccess)
    #expect(it.log.all == ["+holder", "-holder"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func conditionAndLatestTheNewestWaits(_ mode: Dispatcher.Mode) async {
    let (it, options) = (
      it, [.cancelsPrevious("refresh"), .when(stock) { $0 > 0 }] as DispatchOptions
    )
    let waiting = (0..<3).map { it.run(it.notes("\($0)"), mode, options) }
    for task in waiting.dropLast() { #expect(await task.value.error is CancellationError) }
    stock.updateModel { $0 = 1 }
    #expect(await waiting[2].value.isSuccess)
    #expect(it.log.all == ["2"])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func conditionAndDrainOneThatWaitsIsWaitedFor(_ mode: Dispatcher.Mode) async {
    let (it, drained) = (it, Recorder<Bool>())
    let waiting = it.run(it.notes("x"), mode, .when(stock) { $0 > 0 })
    #expect(await it.dispatcher.drain(timeout: .zero).isComplete == false)
    it.dispatcher.drain { drained.record($0.isComplete) }
    #expect(drained.all.isEmpty)
    stock.updateModel { $0 = 1 }
    #expect(await drained.first(1) == [true])
    #expect(await waiting.value.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func conditionAndRetryItIsCheckedBeforeTheFirstAttempt(_ mode: Dispatcher.Mode) async {
    let (stock, attempts) = (stock, Recorder<Int>())
    stock.updateModel { $0 = 1 }
    let retried = it.run(
      .runs { _ in
        attempts.record(stock.model)
        if attempts.count == 1 { throw StageFright() }
      }, mode, [.when(stock) { $0 > 0 }, .retry(attempts: 2, backoff: .constant(.seconds(1)))])
    await it.clock.waitForSleepers(atLeast: 1)
    stock.updateModel { $0 = 0 }
    it.clock.advance(by: .seconds(1))
    #expect(await retried.value.isSuccess)
    #expect(attempts.all == [1, 0])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func conditionAndLimitOneThatWaitsHasItsUnit(_ mode: Dispatcher.Mode) async {
    let (it, limit) = (it, DispatchLimit(1, name: "one"))
    let options = [.limited(by: limit), .when(stock) { $0 > 0 }] as DispatchOptions
    let waiting = it.run(it.notes("x"), mode, options)
    #expect(await it.run(it.notes("y"), mode, options).value.errorCode == .limitExceeded)
    stock.updateModel { $0 = 1 }
    #expect(await waiting.value.isSuccess)
    #expect(limit.statistics.inFlight == 0 && it.log.all == ["x"])
  }
}
