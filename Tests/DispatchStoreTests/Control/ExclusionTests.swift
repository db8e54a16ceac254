import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Mutual exclusion", .timeLimit(.minutes(10)))
struct ExclusionTests {
  let it = GateStage()

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func anotherOfTheKeyRunsAfterTheHolderInEachMode(_ mode: Dispatcher.Mode, sends: Bool) async {
    let free = Latch()
    let holder = await it.begin("1", until: free, mode, .exclusive("import"), sends: sends)
    let others = Dispatcher.Mode.everyMode.enumerated().map { index, other in
      it.run(it.notes("other \(index)"), other, .exclusive("import"), sends: index % 2 == 0)
    }
    #expect(it.log.all == ["+1"])
    free.open()
    #expect(await holder.value.isSuccess)
    for other in others { #expect(await other.value.isSuccess) }
    #expect(it.log.all.prefix(2) == ["+1", "-1"] && it.log.count == 2 + others.count)
    #expect(it.isClean)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func othersRunBeside(_ mode: Dispatcher.Mode, sends: Bool) async {
    let free = Latch()
    let holder = await it.begin("1", until: free, .serial(lane: "own"), .exclusive(1))
    // Of no key, of another one, and of one that differs by its type.
    for options in [DispatchOptions(), .exclusive(2), .exclusive(1.0), .exclusive("1")] {
      #expect(await it.run(it.notes("beside"), mode, options, sends: sends).value.isSuccess)
    }
    #expect(it.log.count == 5)
    free.open()
    #expect(await holder.value.isSuccess)
    // Keys are the dispatcher's.
    let again = Latch()
    let second = await it.begin("2", until: again, .async, .exclusive(1))
    let other = GateStage()
    #expect(await other.run(other.notes("there"), mode, .exclusive(1)).value.isSuccess)
    again.open()
    #expect(await second.value.isSuccess)
  }

  /// Threads that dispatch in all modes, some synchronously, and tasks that send.
  @Test func neverOverlapUnderLoad() async {
    let (it, inside, overlaps) = (it, Locked(Set<Int>()), EventCount(of: 1))
    let script: @Sendable ([Int], Bool) -> Script = { keys, suspends in
      let enter: @Sendable () -> Void = {
        let isAlone = inside.withLock { inside in
          defer { inside.formUnion(keys) }
          return inside.isDisjoint(with: keys)
        }
        if !isAlone { overlaps.add() }
      }
      let leave: @Sendable () -> Void = { inside.withLock { $0.subtract(keys) } }
      if suspends {
        return .suspends { _ in
          enter()
          await Task.yield()
          leave()
        }
      }
      return .runs { _ in
        enter()
        leave()
      }
    }
    let count = Load.count(400)
    let handles = Recorder<DispatchHandle>()
    let options: @Sendable ([Int]) -> DispatchOptions = { keys in
      keys.reduce([]) { [$0, .exclusive($1)] }
    }
    async let sent: Void = withDiscardingTaskGroup { group in
      for index in 0..<count {
        group.addTask {
          let keys = [index % 3, index % 2]
          await it.dispatcher.send(
            script(keys, index % 4 == 0), mode: Dispatcher.Mode.queuedModes[index % 4],
            options: options(keys))
        }
      }
    }
    await onOwnThreads(3) { thread in
      for index in 0..<count {
        let keys = [[thread], [index % 3], [0, 1, 2]][index % 3]
        let mode = Dispatcher.Mode.everyMode[index % 5]
        handles.record(
          it.dispatcher.dispatch(
            action: script(keys, index % 4 == 0), mode: mode, options: options(keys)))
      }
    }
    await sent
    for handle in handles.all { #expect(await handle.result.isSuccess) }
    #expect(overlaps.count == 0)
    #expect(it.isClean)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func severalKeysAreTakenAtOnce(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (freeA, freeB) = (Latch(), Latch())
    let a = await it.begin("a", until: freeA, .async, .exclusive("a"))
    let b = await it.begin("b", until: freeB, .async, .exclusive("b"))
    let both = it.run(
      it.notes("both"), mode, [.exclusive("a"), .exclusive("b"), .exclusive("a")], sends: sends)
    freeA.open()
    #expect(await a.value.isSuccess)
    // It has none of them before it has both.
    #expect(it.log.all.last == "-a")
    freeB.open()
    for task in [b, both] { #expect(await task.value.isSuccess) }
    #expect(it.log.all == ["+a", "+b", "-a", "-b", "both"])
    #expect(it.isClean)
  }

  @Test(arguments: GateStage.inlineModes)
  func theFirstThatCameIsNext(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let holder = await it.begin("a", until: free, .async, .exclusive("a"))
    let tasks = (0..<5).map { index in
      let lane = mode.isAsync ? mode : .serial(lane: index)
      return it.run(
        it.notes("\(index)"), lane,
        index == 1 ? [.exclusive("a"), .exclusive("b")] : .exclusive("a"),
        sends: true)
    }
    // It came later than one that waits for its key, too.
    let later = it.run(it.notes("b"), mode, .exclusive("b"), sends: true)
    #expect(it.log.all == ["+a"])
    free.open()
    for task in tasks + [holder, later] { #expect(await task.value.isSuccess) }
    let all = it.log.all
    #expect(all.filter { $0 != "b" } == ["+a", "-a", "0", "1", "2", "3", "4"])
    #expect(all.firstIndex(of: "b")! > all.firstIndex(of: "1")!)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func oneThatWaitsKeepsItsPlaceInItsLane(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let holder = await it.begin("holder", until: free, .serial(lane: "other"), .exclusive("a"))
    let waiting = it.run(it.notes("first"), mode, .exclusive("a"))
    let behind = it.run(it.notes("second"), mode, DispatchOptions())
    #expect(await it.run(it.notes("beside"), .async, DispatchOptions()).value.isSuccess)
    #expect(it.log.all == ["+holder", "beside"])
    free.open()
    for task in [holder, waiting, behind] { #expect(await task.value.isSuccess) }
    #expect(it.log.all.suffix(3) == ["-holder", "first", "second"])
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aSequenceHasItsKeysFromItsFirstActionToItsLast(_ mode: Dispatcher.Mode) async {
    let (it, free) = (it, Latch())
    let sequence = Task {
      await onOwnThread {
        it.dispatcher.dispatch(
          actions: [it.notes("1"), it.holds("2", until: free), it.notes("3")], mode: mode,
          options: .exclusive("a"))
      }.result
    }
    _ = await it.log.first(2)
    let other = it.run(it.notes("other"), .serial(lane: "other"), .exclusive("a"))
    free.open()
    #expect(await sequence.value.isSuccess)
    #expect(await other.value.isSuccess)
    #expect(it.log.all == ["1", "+2", "-2", "3", "other"])
  }

  /// Whoever has the result finds the keys free, the completion does not yet.
  @Test(arguments: Dispatcher.Mode.everyMode)
  func theKeysAreFreeWhereTheResultIsThere(_ mode: Dispatcher.Mode) async {
    let it = it
    for _ in 0..<20 {
      let completions = Recorder<Bool>()
      let handle = await onOwnThread {
        it.dispatcher.dispatch(
          action: it.notes("1"), mode: mode, options: .exclusive("a")
        ) { completions.record(it.isClean) }
      }
      await handle.ended()
      #expect(it.isClean)
      #expect(completions.all == [false])
    }
  }

  @Test(arguments: GateStage.inlineModes + [.serial(lane: "x")], [false, true])
  func oneThatIsCancelledWhileItWaitsLeavesItsPlace(_ mode: Dispatcher.Mode, sends: Bool) async {
    let (freeA, freeB) = (Latch(), Latch())
    let a = await it.begin("a", until: freeA, .async, .exclusive("a"))
    let waiting = it.run(
      it.notes("x"), mode, [.exclusive("a"), .exclusive("b"), .named("x")], sends: sends)
    let behind = it.run(
      it.holds("b", until: freeB), .serial(lane: "b"), .exclusive("b"))
    if sends { waiting.cancel() } else { it.dispatcher.cancel(named: "x") }
    #expect(await waiting.value["stage"].isCancelled == true)
    // What it reserved is free at once.
    _ = await it.log.first(2)
    #expect(it.log.all == ["+a", "+b"])
    for free in [freeA, freeB] { free.open() }
    for task in [a, behind] { #expect(await task.value.isSuccess) }
    let next = it.run(it.notes("y"), mode, [.exclusive("b"), .exclusive("a")], sends: sends)
    #expect(await next.value.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.everyMode, [false, true])
  func oneThatTimesOutWhileItWaitsSaysForWhat(_ mode: Dispatcher.Mode, sends: Bool) async {
    let free = Latch()
    let holder = await it.begin("a", until: free, .async, .exclusive("import"))
    let waiting = it.run(
      it.notes("x"), mode, [.exclusive("import"), .timeout(.seconds(1))], sends: sends)
    await it.clock.pass(.seconds(1))
    let result = await waiting.value
    #expect(result.errorCode == .timedOut && it.log.all == ["+a"])
    free.open()
    #expect(await holder.value.isSuccess)
    #expect(await it.run(it.notes("y"), mode, .exclusive("import")).value.isSuccess)
    #expect(it.log.all == ["+a", "-a", "y"])
  }

  /// Which the report of a watchdog needs, too.
  @Test func whatItWaitsForIsSaidWithTheHoldersCallSite() async {
    let free = Latch()
    let holder = await it.begin("a", until: free, .async, .exclusive("import"))
    // In the caller's task it comes to its gate before this returns.
    let waiting = it.run(
      it.notes("x"), .async, [.exclusive("import"), .named("x"), .timeout(.seconds(1))], sends: true
    )
    let dispatch = it.dispatcher.dispatches(named: "x")[0].dispatch!
    let holders = it.dispatcher.exclusionTable.obstacles(
      of: dispatch, it.dispatcher.exclusionTable.keys([TypedKey("import")]))
    let site = "\(holders[0].dispatch.callSite)"
    #expect(
      dispatch.gateDescription == "the exclusion key \"import\", held by the dispatch at \(site)")
    await it.clock.pass(.seconds(1))
    let message = await waiting.value.dispatchError!.message
    #expect(message.contains("It waited for the exclusion key \"import\", held by the dispatch at"))
    free.open()
    #expect(await holder.value.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func theKeysAreHeldAfterADeadlineUntilTheBlockHasEnded(_ mode: Dispatcher.Mode) async {
    let free = Latch()
    let holder = await it.begin("a", until: free, mode, [.exclusive("a"), .timeout(.seconds(1))])
    await it.clock.pass(.seconds(1))
    #expect(await holder.value.errorCode == .timedOut)
    let other = it.run(it.notes("other"), .serial(lane: "other"), .exclusive("a"))
    #expect(await it.run(it.notes("beside"), .serial(lane: "b"), DispatchOptions()).value.isSuccess)
    #expect(it.log.all == ["+a", "beside"])
    free.open()
    #expect(await other.value.isSuccess)
    #expect(it.log.all == ["+a", "beside", "-a", "other"])
  }

  /// Each end gives the key to the next one: no walk through those that wait.
  @Test func manyThatWaitForOneKeyTakeTheirTimeEach() async {
    let (it, free) = (it, Latch())
    let holder = await it.begin("a", until: free, .async, .exclusive("a"))
    let count = Load.count(4_000)
    let handles = (0..<count).map { index in
      it.dispatcher.dispatch(
        action: Script.runs { _ in }, mode: .serial(lane: index),
        options: [.exclusive("a"), .exclusive(index % 7)])
    }
    free.open()
    #expect(await holder.value.isSuccess)
    for handle in handles { #expect(await handle.result.isSuccess) }
    #expect(it.isClean)
  }

  @Test func oneMadeInAnExclusiveSectionWaits() async {
    let (it, free) = (it, Latch())
    let holder = await it.begin("a", until: free, .async, .exclusive("a"))
    let handles = it.stage.updateModel { _ in
      Dispatcher.Mode.queuedModes.map { mode in
        it.dispatcher.dispatch(action: it.notes("x"), mode: mode, options: .exclusive("a"))
      }
    }
    #expect(it.log.all == ["+a"])
    free.open()
    #expect(await holder.value.isSuccess)
    for handle in handles { #expect(await handle.result.isSuccess) }
    #expect(it.log.count == 2 + handles.count && it.isClean)
  }
}
