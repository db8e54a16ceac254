import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Diagnosis", .timeLimit(.minutes(10)))
struct DiagnosisTests {
  let world = DiagnosisWorld()
  var dispatcher: Dispatcher { world.dispatcher }

  @Test func withoutATableSaysHowToGetOne() async {
    let plain = Dispatcher(name: "plain")
    let diagnosis = plain.diagnosis()
    #expect(!diagnosis.hasTable && diagnosis.entries.isEmpty)
    #expect(diagnosis.description.contains("tracksInFlight"))
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func namesWhatHasTheLaneAndThePlaceInIt(mode: Dispatcher.Mode) async {
    let held = await world.hold(mode)
    let waiting = (0..<3).map { _ in world.add(mode) }
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.entries.count == 4 && diagnosis.cycles.isEmpty)
    for (index, handle) in waiting.enumerated() {
      #expect(diagnosis.kinds(from: handle, to: held) == [.lane])
      #expect(diagnosis.entry(of: handle)?.isWaiting == true)
      let states = diagnosis.states(of: handle)
      #expect(states.contains("as number \(index + 1), behind 1 (DispatchStoreTests/"), "\(states)")
    }
    let entry = diagnosis.entry(of: held)
    #expect(entry?.number == 1 && entry?.mode == mode && entry?.isWaiting == false)
    #expect(entry?.states.first == "runs store \"stage\" since 0 ms (an async block)")
    #expect(entry?.actions.first is Script)
    await world.end(held, waiting[2])
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func showsTheNamesOfADispatch(mode: Dispatcher.Mode) async {
    let held = await world.hold(mode, [.named("request 7"), .named(8)])
    let other = world.add(mode, .named("request 9"))
    let entry = dispatcher.diagnosis().entry(of: held)
    #expect(entry.map { Set($0.names) } == ["request 7", "8"])
    #expect(
      entry?.line.contains("named request 7 and 8, ") == true
        || entry?.line.contains("named 8 and request 7, ") == true)
    await world.end(held, other)
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func showsATaskThatWaitsForItsTurn(mode: Dispatcher.Mode) async {
    let held = await world.hold(mode)
    let dispatcher = dispatcher
    let task = Task.immediate { await dispatcher.send(Script.adds("y"), mode: mode).isSuccess }
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.entries.count == 2)
    #expect(diagnosis.edges.map(\.kind) == [.lane])
    #expect(diagnosis.edges.first?.to == diagnosis.entry(of: held)?.number)
    world.free.open()
    #expect(await task.value)
    await world.end(held)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func namesTheDispatchesAfterWhichOneRuns(mode: Dispatcher.Mode) async {
    let held = await world.hold(.serial(lane: "other"))
    let next = world.add(mode, .after(held))
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.kinds(from: next, to: held) == [.after])
    #expect(diagnosis.states(of: next).contains("waits for the end of 1 ("))
    #expect(diagnosis.states(of: held).contains("1 waits for its end"))
    await world.end(held, next)
  }

  /// Behind one that is held back itself: the lane is free.
  @Test func namesWhatIsHeldBackInTheLaneBeforeIt() async {
    let held = await world.hold(.async)
    let first = world.add(.serial, .after(held))
    let second = world.add(.serial)
    let third = world.add(.serial)
    // The first one keeps its place, as the lane's holder or at the head of the inbox.
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.kinds(from: first, to: held) == [.after])
    #expect(diagnosis.kinds(from: second, to: first) == [.lane])
    #expect(diagnosis.kinds(from: third, to: first) == [.lane])
    await world.end(held, third)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func namesStoresThatRunAndThoseThatWaitForThem(mode: Dispatcher.Mode) async {
    let (free, started) = (world.free, Latch())
    dispatcher.addStage("first")
    dispatcher.addStage("second", waitFor: ["first"])
    dispatcher.addStage("third", waitFor: ["first", "second"])
    dispatcher.unregister(storeIdentifier: "stage")
    let handle = dispatcher.dispatch(
      action: Script.controls { operation, stage in
        guard stage.identifier == "first" else { return operation.finish() }
        Thread {
          free.wait()
          operation.finish()
        }.start()
        started.open()
      }, mode: mode)
    await started.opened()
    // The block may not have returned yet.
    let states = dispatcher.diagnosis().states(of: handle)
    #expect(states.contains("runs store \"first\""), "\(states)")
    _ = await world.diagnosis { $0.states(of: handle).contains("`finish` was not called") }
    world.clock.advance(by: .seconds(3))
    let diagnosis = dispatcher.diagnosis()
    let entry = diagnosis.entry(of: handle)
    #expect(
      entry?.states == [
        "runs store \"first\" since 3 s (its block has returned, and `finish` was not called)",
        "store \"second\" waits for store \"first\"",
        "store \"third\" waits for stores \"first\", \"second\"",
      ])
    #expect(entry?.timeUnmoved == .seconds(3) && entry?.age == .seconds(3))
    await world.end(handle)
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func showsABlockThatBlocksItsThread(mode: Dispatcher.Mode) async {
    let (started, free) = (Latch(), world.free)
    let handle = dispatcher.dispatch(
      action: Script.blocks(opening: started, until: free), mode: mode)
    await started.opened()
    let states = dispatcher.diagnosis().states(of: handle)
    #expect(states.contains("runs store \"stage\" since 0 ms (on a thread)"), "\(states)")
    await world.end(handle)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func namesTheDispatchThatABlockAwaits(mode: Dispatcher.Mode) async {
    let held = await world.hold(.serial(lane: "other"))
    let (dispatcher, outer, started) = (dispatcher, Recorder<DispatchID>(), Latch())
    dispatcher.addStage("outer")
    let action = Script.suspends { _ in
      started.open()
      await held.ended()
    }
    Thread {
      let handle = dispatcher.dispatch(storeIdentifier: "outer", action: action, mode: mode)
      outer.record(handle.dispatchID)
    }.start()
    await started.opened()
    let diagnosis = await world.diagnosis { !$0.edges.isEmpty }
    #expect(diagnosis.edges.map(\.kind) == [.awaits])
    #expect(diagnosis.edges.first?.to == diagnosis.entry(of: held)?.number)
    let waiter = diagnosis.entry(diagnosis.edges[0].from)
    #expect(waiter.states.contains { $0.contains("the code of store \"outer\" waits for the end") })
    #expect(waiter.states.contains { $0.contains("the thread of its caller") } == (mode == .sync))
    world.free.open()
    let id = await outer.first(1)[0]
    #expect(waiter.id == id)
    await held.ended()
    #expect(await dispatcher.drain().isComplete)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func showsAListWhoseHookHasNotReturned(mode: Dispatcher.Mode) async {
    let (dispatcher, free, began) = (dispatcher, world.free, Latch())
    let list = Recorder<DispatchHandle>()
    dispatcher.register(
      middleware: ListHook { _ in
        began.open()
        free.wait()
      })
    Thread {
      list.record(dispatcher.dispatch(actions: [Script.adds("x"), Script.adds("y")], mode: mode))
    }.start()
    await began.opened()
    #expect(dispatcher.diagnosis().entries.map(\.actions.count) == [2])
    free.open()
    await world.end(list.first(1)[0])
  }

  @Test(arguments: Way.all)
  func saysThatAHookHasNotReturnedBeforeTheStart(way: Way) async {
    let (dispatcher, free, began) = (dispatcher, world.free, Latch())
    dispatcher.register(
      .before(Script.self) { _, _ in
        began.open()
        free.wait()
        return .pass
      })
    addElsewhere(way)
    await began.opened()
    let entries = dispatcher.diagnosis().entries
    #expect(entries.map(\.states.first) == ["its hooks are called, before it starts"])
    free.open()
    #expect(await dispatcher.drain().isComplete)
  }

  /// Dispatches or sends an action on a thread that a hook may block.
  private func addElsewhere(_ way: Way, _ options: DispatchOptions = []) {
    let dispatcher = dispatcher
    Thread {
      let action = Script.adds("x")
      if way.sends {
        let mode = Dispatcher.SendMode(way.mode)!
        _ = Task.immediate { _ = await dispatcher.send(action, mode: mode, options: options) }
      } else {
        dispatcher.dispatch(action, mode: way.mode, options: options)
      }
    }.start()
  }

  /// Its block goes on only after the dispatch that it makes on its own thread.
  @Test(arguments: Dispatcher.Mode.offMainModes)
  func namesTheSyncDispatchThatABlockWaitsFor(mode: Dispatcher.Mode) async {
    let (dispatcher, started, free) = (dispatcher, Latch(), world.free)
    dispatcher.addStage("inner")
    let outer = dispatcher.dispatch(
      storeIdentifier: "stage",
      action: Script.runs { _ in
        dispatcher.dispatch(
          storeIdentifier: "inner",
          action: Script.controls { operation, _ in
            started.open()
            Thread {
              free.wait()
              operation.finish()
            }.start()
          }, mode: .sync)
      }, mode: mode)
    await started.opened()
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.entries.count == 2 && diagnosis.edges.map(\.kind) == [.awaits])
    #expect(diagnosis.edges.first?.from == diagnosis.entry(of: outer)?.number)
    #expect(diagnosis.entries.first { $0.mode == .sync }?.parent == outer.dispatchID)
    await world.end(outer)
  }

  /// After its delay, only the code that called it waits for it.
  @Test(arguments: [true, false])
  func aSyncDispatchWithADelayDoesNotWaitForItself(isInBlock: Bool) async {
    let (dispatcher, started, free) = (dispatcher, Latch(), world.free)
    dispatcher.addStage("inner")
    let delayed: @Sendable () -> Void = {
      dispatcher.dispatch(
        storeIdentifier: "inner",
        action: Script.blocks(opening: started, until: free), mode: .sync,
        options: .delayed(by: .milliseconds(1)))
    }
    let caller = Task {
      await onOwnThread {
        guard isInBlock else { return delayed() }
        dispatcher.dispatch(
          storeIdentifier: "stage", action: Script.runs { _ in delayed() }, mode: .sync)
      }
    }
    while dispatcher.delayedDispatches.count == 0 { await Task.yield() }
    world.clock.advance(by: .milliseconds(1))
    await started.opened()
    let diagnosis = dispatcher.diagnosis()
    let kinds: [Diagnosis.Edge.Kind] = isInBlock ? [.awaits] : []
    #expect(diagnosis.cycles.isEmpty && diagnosis.edges.map(\.kind) == kinds)
    #expect(diagnosis.edges.allSatisfy { $0.from != $0.to })
    free.open()
    await caller.value
    await world.end()
  }

  @Test func showsAThreadThatWaitsForAHandleInABlock() async {
    let held = await world.hold(.serial(lane: "other"))
    let outer = dispatcher.dispatch(
      storeIdentifier: "stage", action: Script.runs { _ in held.wait() }, mode: .async)
    // By way of the wait, which has a call site of its own.
    let diagnosis = await world.diagnosis { $0.edges.count == 2 }
    #expect(Set(diagnosis.edges.map(\.kind)) == [.awaits, .after])
    #expect(diagnosis.entries.count == 3)
    await world.end(held, outer)
  }

  @Test func namesTheDispatchOnWhoseOperationOneDepends() async {
    let (started, free, operations) = (Latch(), world.free, Recorder<Script.Operation>())
    dispatcher.addStage("first")
    let first = dispatcher.dispatch(
      storeIdentifier: "first",
      action: Script.answers { action, store in
        let operation = Script.Operation(action: action, store: store) { _, _ in
          started.open()
          await free.opened()
        }
        operations.record(operation)
        return operation
      }, mode: .serial(lane: "first"))
    await started.opened()
    let second = dispatcher.dispatch(
      storeIdentifier: "stage",
      action: Script.answers { action, store in
        let operation = Script.Operation(action: action, store: store) { _, store in
          store.updateModel { $0.append("second") }
        }
        operation.addDependency(operations.all[0])
        return operation
      }, mode: .serial)
    let diagnosis = await world.diagnosis { !$0.edges.isEmpty }
    #expect(diagnosis.kinds(from: second, to: first) == [.dependency])
    #expect(diagnosis.states(of: second).contains("waits for operations on which its own depends"))
    await world.end(first, second)
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "a")])
  func saysThatTheQueueIsSuspended(mode: Dispatcher.Mode) async {
    dispatcher.queue.isSuspended = true
    let handle = world.add(mode)
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.isSuspended && diagnosis.description.contains("Its queue is suspended."))
    let states = diagnosis.states(of: handle)
    #expect(states.contains("suspended"), "\(states)")
    dispatcher.queue.isSuspended = false
    await world.end(handle)
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .serial(lane: "a")])
  func saysThatASequencePausesForTheSuspendedQueue(mode: Dispatcher.Mode) async {
    let dispatcher = dispatcher
    let whole = dispatcher.dispatch(
      actions: [
        Script.runs { _ in dispatcher.queue.isSuspended = true }, Script.adds("second"),
      ], mode: mode)
    let diagnosis = await world.diagnosis {
      $0.states(of: whole).contains("pauses between two actions, since the queue is suspended")
    }
    #expect(diagnosis.entry(of: whole)?.isWaiting == true)
    dispatcher.queue.isSuspended = false
    await world.end(whole)
  }

  /// Otherwise a limit with many units and many waits would have as many edges as their product.
  @Test func linksOnlyTheOldestWaitForALimitWithItsHolders() async {
    let limit = DispatchLimit(2, overflow: .wait, name: "encoders")
    let held = [
      await world.hold(.async, to: nil, .limited(by: limit)),
      await world.hold(.async, to: nil, .limited(by: limit)),
    ]
    let dispatcher = dispatcher
    var tasks: [Task<Bool, Never>] = []
    for _ in 0..<3 {
      tasks.append(
        Task.immediate {
          await dispatcher.send(Script.adds("x"), options: .limited(by: limit)).isSuccess
        })
      world.clock.advance(by: .milliseconds(1))
    }
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.edges.count == 4 && diagnosis.edges.allSatisfy { $0.kind == .holdsBack })
    #expect(Set(diagnosis.edges.map(\.from)) == [3, 4, 5])
    #expect(diagnosis.edges.filter { $0.from == 3 }.map(\.to) == [1, 2])
    #expect(diagnosis.edges.filter { $0.from > 3 }.allSatisfy { $0.to == 3 })
    world.free.open()
    for task in tasks { #expect(await task.value) }
    await world.end(held[0], held[1])
  }

  @Test func saysThatThereIsNoPlaceOnTheQueue() async {
    let world = DiagnosisWorld(width: 1)
    let (started, free) = (Latch(), world.free)
    let blocks = world.dispatcher.dispatch(
      action: Script.blocks(opening: started, until: free), mode: .async)
    await started.opened()
    let next = world.add(.async)
    let states = world.dispatcher.diagnosis().states(of: next)
    #expect(states.contains("a place on the concurrent queue, which is 1 wide"), "\(states)")
    await world.end(blocks, next)
  }

  @Test(arguments: [Dispatcher.Mode.async, .serial, .mainThread])
  func namesThePresentActionOfASequence(mode: Dispatcher.Mode) async {
    let (started, free) = (Latch(), world.free)
    let whole = dispatcher.dispatch(
      actions: [
        Script.adds("first"),
        Script.holds(opening: started, until: free),
      ], mode: mode)
    await started.opened()
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.edges.map(\.kind) == [.action])
    #expect(diagnosis.states(of: whole).contains("runs action 2 of 2: "))
    #expect(diagnosis.entries.first { $0.parent == whole.dispatchID } != nil)
    await world.end(whole)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func namesTheHoldersOfALimitForWhichACallWaits(mode: Dispatcher.Mode) async {
    let limit = DispatchLimit(1, overflow: .wait, name: "encoders")
    let held = await world.hold(.async, .limited(by: limit))
    let dispatcher = dispatcher
    let task = Task.immediate {
      await dispatcher.send(
        Script.adds("x"), mode: mode,
        options: [.limited(by: limit), .named("request 7"), .timeout(.seconds(5))]
      ).isSuccess
    }
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.edges.map(\.kind) == [.holdsBack])
    let call = diagnosis.entry(diagnosis.edges[0].from)
    #expect(call.id == nil && call.isWaiting && call.mode == nil)
    #expect(
      call.states.first?.hasPrefix("waits for a unit of \"encoders\" (1 of 1 are in flight): 1 (")
        == true, "\(call.states)")
    #expect(call.names == ["request 7"] && call.states.last == "times out in 5 s")
    world.free.open()
    #expect(await task.value)
    await world.end(held)
  }

  /// The group is in no table, but the dispatch around it is.
  @Test func namesTheDispatchInWhichTheFirstStepOfAGroupWaitsForAUnit() async {
    let limit = DispatchLimit(1, overflow: .wait, name: "encoders")
    _ = await world.hold(.async, .limited(by: limit))
    let (dispatcher, outer) = (dispatcher, Recorder<DispatchID>())
    dispatcher.addStage("outer")
    let group = ActionGroup {
      ActionStep(Script.adds("x"), to: "stage", options: .limited(by: limit))
    }
    Thread {
      let handle = dispatcher.dispatch(
        storeIdentifier: "outer", action: Script.runs { _ in dispatcher.dispatch(group) },
        mode: .sync)
      outer.record(handle.dispatchID)
    }.start()
    // A dispatch that has just begun may be seen by its wait alone, without its mode.
    let diagnosis = await world.diagnosis { diagnosis in
      diagnosis.edges.contains { $0.kind == .awaits && diagnosis.entry($0.from).mode == .sync }
    }
    #expect(diagnosis.entries.count == 3)
    let waits = diagnosis.edges.first { $0.kind == .awaits }!
    let waiter = diagnosis.entry(waits.from)
    #expect(diagnosis.edges.contains { $0.from == waits.to && $0.kind == .holdsBack })
    world.free.open()
    let id = await outer.first(1)[0]
    #expect(waiter.id == id)
    #expect(await dispatcher.drain().isComplete)
  }

  @Test func showsWhatHoldsADispatchBackAsThatDescribesIt() async {
    let held = await world.hold(.serial(lane: "a"), .exclusive("door"))
    let waiting = world.add(.serial(lane: "b"), .exclusive("door"))
    let behind = world.add(.serial(lane: "b"))
    let diagnosis = await world.diagnosis { $0.kinds(from: waiting, to: held) == [.holdsBack] }
    let states = diagnosis.states(of: waiting)
    let holder = "\(diagnosis.entry(of: held)!.number) (DispatchStoreTests/"
    #expect(
      states.contains("waits for the exclusion key \"door\", held by \(holder)"), "\(states)")
    // Those behind it in its lane wait for it, too.
    #expect(diagnosis.kinds(from: behind, to: waiting) == [.lane])
    await world.end(held, waiting, behind)
  }

  @Test func saysThatAStorePausesBetweenTwoAttempts() async {
    let handle = dispatcher.dispatch(
      action: Script.failsOnce(noting: Recorder()), mode: .serial,
      options: .retry(attempts: 2, backoff: .constant(.seconds(60))))
    await world.clock.waitForSleepers(atLeast: 1)
    let states = dispatcher.diagnosis().states(of: handle)
    #expect(states.contains("store \"stage\" pauses before its attempt 2"), "\(states)")
    world.clock.advance(by: .seconds(60))
    await world.end(handle)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func saysWhenADispatchTimesOutAndThatItHas(mode: Dispatcher.Mode) async {
    let held = await world.hold(mode, .timeout(.seconds(5)))
    await world.clock.waitForSleepers(atLeast: 1)
    #expect(dispatcher.diagnosis().states(of: held).contains("times out in 5 s"))
    world.clock.advance(by: .seconds(5))
    #expect(await held.result.dispatchError?.code == .timedOut)
    // Its block goes on.
    #expect(dispatcher.diagnosis().states(of: held).contains("has timed out"))
    world.free.open()
    #expect(await dispatcher.drain().isComplete)
    #expect(dispatcher.diagnosis().entries.isEmpty)
  }

  /// Only the thread that a hook blocks could end the dispatch.
  @Test(arguments: Way.all)
  func saysSinceWhenATimeLimitHasPassed(way: Way) async {
    let (free, began) = (world.free, Latch())
    dispatcher.register(
      .before(Script.self) { _, _ in
        began.open()
        free.wait()
        return .pass
      })
    addElsewhere(way, .timeout(.seconds(5)))
    await began.opened()
    world.clock.advance(by: .seconds(7))
    let states = dispatcher.diagnosis().entries.first?.states ?? []
    #expect(states.contains("its time limit passed 2 s ago"), "\(states)")
    free.open()
    #expect(await dispatcher.drain().isComplete)
  }

  @Test(arguments: Way.all.filter { $0.mode != .mainThread })
  func saysNothingOfATimeLimitOnceTheStoresHaveEndedInTime(way: Way) async {
    let (free, ended) = (world.free, Latch())
    dispatcher.register(
      .after(Script.self) { _, _ in
        ended.open()
        free.wait()
      })
    addElsewhere(way, .timeout(.seconds(5)))
    await ended.opened()
    for _ in 0..<2 {
      let states = dispatcher.diagnosis().entries.first?.states ?? []
      #expect(!states.isEmpty && !states.contains { $0.contains("time") }, "\(states)")
      world.clock.advance(by: .seconds(5))
    }
    free.open()
    #expect(await dispatcher.drain().isComplete)
  }

  @Test func saysThatChangesAreLeftToANotifier() async {
    let world = DiagnosisWorld(width: 1)
    let (dispatcher, free, blocked) = (world.dispatcher, world.free, Latch())
    let stage = dispatcher.addStage("observed")
    let token = stage.observe(.model) { change in
      guard change.value == ["first"] else { return }
      blocked.open()
      free.wait()
    }
    Thread { stage.updateModel { $0.append("first") } }.start()
    await blocked.opened()
    let left = dispatcher.dispatch(
      storeIdentifier: "observed", action: Script.adds("second"), mode: .async)
    // The queue's one thread has gone on.
    await world.add(.async).ended()
    let states = dispatcher.diagnosis().states(of: left)
    #expect(states.contains("has changes that were left to its notifier"), "\(states)")
    let behind = dispatcher.dispatch(
      storeIdentifier: "observed", action: Script.adds("third"), mode: .async)
    await world.add(.async).ended()
    let heldBack = dispatcher.diagnosis().states(of: behind)
    let reason = "its notifier delivers what was left to it, or the queue lets nothing start"
    #expect(heldBack.contains("store \"observed\" is held back: \(reason)"), "\(heldBack)")
    await world.end(left, behind)
    token.cancel()
  }

  /// The consumer is in no entry.
  @Test(arguments: Dispatcher.Mode.offMainModes)
  func saysThatTheConsumerOfAStreamMayHoldChangesBack(mode: Dispatcher.Mode) async {
    let stage = dispatcher.addStage("observed")
    var models = stage.stream(.model, initial: true, buffering: .suspending(0)).makeAsyncIterator()
    _ = await models.next()
    let held = dispatcher.dispatch(
      storeIdentifier: "observed", action: Script.adds("x"), mode: mode)
    let diagnosis = await world.diagnosis { $0.states(of: held).contains("has changes") }
    let states = diagnosis.states(of: held)
    #expect(states.contains("that the consumer of a suspending stream holds back"), "\(states)")
    _ = await models.next()
    await world.end(held)
  }

  @Test func namesByItsCallSiteAloneWhatIsInNoTable() async {
    let plain = Dispatcher()
    plain.addStage()
    let (started, free) = (Latch(), world.free)
    let other = plain.dispatch(action: Script.holds(opening: started, until: free), mode: .serial)
    await started.opened()
    let next = world.add(.serial, .after(other))
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.kinds(from: next, to: other) == [.after])
    let entry = diagnosis.entry(of: other)
    #expect(entry?.age == nil && entry?.actions.isEmpty == true && entry?.mode == nil)
    #expect(entry!.line.hasPrefix("2. A dispatch at DispatchStoreTests/"))
    await world.end(other, next)
  }

  @Test func ofTenThousandIsLinear() async {
    let held = await world.hold(.serial)
    var last: DispatchHandle?
    let count = Load.count(10_000)
    for index in 0..<count {
      last = world.add(.serial, index % 100 == 0 ? .after(held) : .after())
    }
    let diagnosis = dispatcher.diagnosis()
    #expect(diagnosis.entries.count == count + 1)
    #expect(diagnosis.edges.count <= 3 * count)
    #expect(diagnosis.cycles.isEmpty)
    await world.end(last!)
  }
}
