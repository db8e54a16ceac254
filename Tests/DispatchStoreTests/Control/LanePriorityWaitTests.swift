import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// In lanes with priorities, what waits for others goes after what came before it, so that none waits for ever.
@Suite("Lanes with priorities: waits", .timeLimit(.minutes(10)))
struct LanePriorityWaitTests {
  /// What a dispatch waits for before it starts.
  enum Wait: CaseIterable {
    case after, key, condition
  }

  let it = GateStage()
  let free = Latch()
  let outside = Latch()
  let stock = Store<Int, Ping>.probe("stock")

  init() {
    it.dispatcher.register(store: stock)
  }

  private func options(
    _ wait: Wait, for other: DispatchHandle, _ priority: Operation.QueuePriority
  ) -> DispatchOptions {
    switch wait {
    case .after: [.after(other), .priority(priority)]
    case .key: [.exclusive("k"), .priority(priority)]
    case .condition: [.when(stock) { $0 > 0 }, .priority(priority)]
    }
  }

  private var order: [String] { it.log.all.filter { !$0.contains("holder") } }

  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func oneAfterAnotherOfItsLaneOvertakesItNot(_ mode: Dispatcher.Mode, sends: Bool) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let low = it.dispatcher.dispatch(
      action: it.notes("low"), mode: mode, options: .priority(.veryLow))
    let after = it.run(
      it.notes("after"), mode, [.after(low), .priority(.veryHigh)], sends: sends)
    free.open()
    for task in [holder, after] { #expect(await task.value.isSuccess) }
    #expect(order == ["low", "after"])
  }

  /// The other one that it waits for needs what came before it in its lane.
  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func noneOvertakesWhatItWaitsForElsewhere(_ mode: Dispatcher.Mode, sends: Bool) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let low = it.dispatcher.dispatch(
      action: it.notes("low"), mode: mode, options: .priority(.low))
    let other = it.dispatcher.dispatch(
      action: it.notes("other"), mode: .async, options: [.after(low), .exclusive("k")])
    var tasks = [holder]
    for options in [DispatchOptions.after(other), [.after(other), .exclusive("k")]] {
      let waits = it.notes("waits")
      tasks.append(it.run(waits, mode, [options, .priority(.veryHigh)], sends: sends))
    }
    free.open()
    for task in tasks { #expect(await task.value.isSuccess) }
    #expect(await other.result.isSuccess)
    #expect(order == ["low", "other", "waits", "waits"])
  }

  @Test(arguments: Dispatcher.Mode.laneModes, Wait.allCases)
  func whatCameBeforeItHasItsPriority(_ mode: Dispatcher.Mode, wait: Wait) async {
    let (it, outside) = (it, outside)
    let holder = await it.holdPrioritized(mode, until: free)
    let other = it.dispatcher.dispatch(
      action: it.holds("holder outside", until: outside), mode: .async, options: .exclusive("k"))
    _ = await it.log.first(2)
    let dispatches: [(String, DispatchOptions)] = [
      ("low", .priority(.low)), ("normal", .init()),
      ("waits", options(wait, for: other, .high)), ("equal", .priority(.high)),
      ("veryHigh", .priority(.veryHigh)), ("later", .init()), ("low later", .priority(.low)),
    ]
    let tasks = dispatches.map { it.run(it.notes($0), mode, $1) }
    free.open()
    // It holds the lane, and waits there: nothing overtakes it any more.
    _ = await it.log.first(6)
    outside.open()
    stock.dispatch(Ping(), mode: .sync)
    for task in [holder] + tasks { #expect(await task.value.isSuccess) }
    #expect(await other.result.isSuccess)
    #expect(
      order == ["veryHigh", "low", "normal", "waits", "equal", "later", "low later"])
  }

  /// It no longer waits, and lends nothing.
  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func oneThatIsCancelledLendsNothing(_ mode: Dispatcher.Mode, sends: Bool) async {
    let holder = await it.holdPrioritized(mode, until: free)
    let other = it.dispatcher.dispatch(
      action: it.holds("holder outside", until: outside), mode: .async)
    let low = it.run(it.notes("low"), mode, .priority(.low), sends: sends)
    let cancelled = it.run(
      it.notes("cancelled"), mode, [.after(other), .priority(.high), .named("it")], sends: sends)
    let high = it.run(it.notes("high"), mode, .priority(.high), sends: sends)
    it.dispatcher.cancel(named: "it")
    #expect(await cancelled.value.isSuccess == false)
    free.open()
    for task in [holder, low, high] { #expect(await task.value.isSuccess) }
    #expect(order == ["high", "low"])
    outside.open()
    #expect(await other.result.isSuccess)
  }

  /// Its block waits for what waits in its lane, which one that came later has overtaken.
  @Test(arguments: Dispatcher.Mode.laneModes, [false, true])
  func aRingThroughOneThatHasOvertakenIsRefused(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (it, codes) = (it, Recorder<DispatchError.Code?>())
    it.dispatcher.addStage("other")
    let holder = await it.holdPrioritized(mode, until: free)
    let low = it.dispatcher.dispatch(
      action: it.notes("low"), mode: mode, options: .priority(.low))
    let other = it.dispatcher.dispatch(
      storeIdentifier: "other",
      action: Script.suspends { _ in _ = await low.result }, mode: .async)
    // Else it may be its wait that closes the ring.
    await low.waitUntilAwaited()
    let overtakes = it.run(
      .suspends { _ in codes.record(await other.result.errorCode) }, mode, .priority(.high),
      sends: sends)
    free.open()
    for task in [holder, overtakes] { #expect(await task.value.isSuccess) }
    for handle in [low, other] { #expect(await handle.result.isSuccess) }
    // Of both stores.
    #expect(codes.all == [.wouldDeadlock, .wouldDeadlock])
  }

  /// One before it in the lane waits for the block, though a higher priority might overtake that.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func aWaitBehindOneThatIsHeldBackIsRefusedWhateverItsPriority(_ mode: Dispatcher.Mode) async {
    let (it, codes, queued) = (it, Recorder<DispatchError.Code?>(), Latch())
    it.dispatcher.addStage("outer")
    let holder = await it.holdPrioritized(mode, until: free)
    let outer = it.dispatcher.dispatch(
      storeIdentifier: "outer",
      action: Script.suspends { _ in
        await queued.opened()
        let behind = it.dispatcher.dispatch(
          storeIdentifier: "stage", action: it.notes("behind"), mode: mode,
          options: .priority(.high))
        codes.record(await behind.result.errorCode)
      }, mode: .async)
    let waits = it.run(it.notes("waits"), mode, [.after(outer), .priority(.low)])
    queued.open()
    #expect(await outer.result.isSuccess)
    #expect(codes.all == [.wouldDeadlock])
    free.open()
    for task in [holder, waits] { #expect(await task.value.isSuccess) }
  }

  @Test(arguments: [Dispatcher.Mode.serial, .serial(lane: "named")])
  func aBlockedTaskThreadDoesNotWaitWhereATaskMayOvertake(_ mode: Dispatcher.Mode) async {
    let (it, free) = (it, free)
    let holder = await it.holdPrioritized(mode, until: free)
    let low = it.dispatcher.dispatch(
      action: it.notes("low"), mode: mode, options: .priority(.low))
    let task = it.run(it.notes("task"), mode, .priority(.high), sends: true)
    let refused = await Task.detached {
      it.dispatcher.dispatch(action: it.notes("sync"), mode: .sync, options: .after(low))
        .resultIfEnded!
    }.value
    #expect(refused.errorCode == .wouldDeadlock)
    free.open()
    for task in [holder, task] { #expect(await task.value.isSuccess) }
    #expect(await low.result.isSuccess && order == ["task", "low"])
  }
}
