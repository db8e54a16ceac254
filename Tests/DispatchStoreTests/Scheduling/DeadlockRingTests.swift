import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

/// Rings of waits that pass through hooks, deliveries, tasks, several lanes and dependencies are refused.
@Suite("Rings of waits", .timeLimit(.minutes(10)))
struct DeadlockRingTests {
  let dispatcher = makeStage().dispatcher
  let results = Recorder<DispatchResult>()

  /// Dispatches `.sync` after a dispatch on a lane; the result.
  private static func waitsBehind(
    _ dispatcher: Dispatcher, _ mode: Dispatcher.Mode
  ) -> DispatchResult? {
    let behind = dispatcher.dispatch(action: Script.adds("behind"), mode: mode)
    let after = dispatcher.dispatch(
      action: Script.adds("after"), mode: .sync, options: .after(behind))
    return after.resultIfEnded
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aHookOfWhatAnAsyncBlockDispatches(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    dispatcher.register(
      middleware: RecordingMiddleware(will: { _, action, _ in
        if (action as? Script)?.description == "hooked",
          let result = Self.waitsBehind(dispatcher, mode)
        {
          results.record(result)
        }
        return .pass
      }))
    let script = Script.suspends { _ in
      await Task.yield()
      for inner in [Dispatcher.Mode.async, .sync, .serial(lane: "other")] {
        dispatcher.dispatch(action: Script.runs("hooked") { _ in }, mode: inner)
      }
    }
    #expect(await dispatcher.dispatch(action: script, mode: mode).result.isSuccess)
    let codes = results.all.map(\.errorCode)
    #expect(codes == [.wouldDeadlock, .wouldDeadlock, .wouldDeadlock])
  }

  @Test func aThreadThatDeliversForOthers() async throws {
    try await explore(seeds: 0..<300) { dispatcher in
      let observed = dispatcher.addStage("observed")
      let stage = dispatcher.addStage("stage")
      let refused = Recorder<DispatchResult?>()
      let waits: @Sendable () -> Void = {
        refused.record(Self.waitsBehind(dispatcher, .serial))
      }
      let token = observed.observe(.model) { change in
        guard change.value.last == "first" else { return }
        dispatcher.dispatch(
          storeIdentifier: "observed", action: Script.adds("left"), mode: .sync)
      }
      async let first = dispatcher.dispatch(
        storeIdentifier: "observed", action: Script.adds("first"), mode: .sync
      ).result
      let block = Script.suspends { _ in
        observed.updateModel { $0.append("second") }
        waits()
      }
      async let second = dispatcher.dispatch(
        storeIdentifier: "stage", action: block, mode: .serial
      ).result
      for result in await [first, second] where !result.isSuccess { throw StageFright() }
      if refused.all.map({ $0?.errorCode }) != [.wouldDeadlock] { throw StageFright(place: 1) }
      withExtendedLifetime((token, stage)) {}
    }
  }

  /// The commit of a dispatch is left to a thread whose block holds a lane: its completion waits for that.
  @Test func aCompletionOnAThreadThatDeliversForOthers() async throws {
    try await explore(seeds: 0..<300) { dispatcher in
      let observed = dispatcher.addStage("observed")
      dispatcher.addStage("stage")
      let token = observed.observe(.model) { change in
        guard change.value.last == "first" else { return }
        dispatcher.dispatch(
          storeIdentifier: "observed", action: Script.adds("left"), mode: .sync
        ) {
          _ = Self.waitsBehind(dispatcher, .serial)
        }
      }
      async let first = dispatcher.dispatch(
        storeIdentifier: "observed", action: Script.adds("first"), mode: .sync
      ).result
      let block = Script.suspends { _ in observed.updateModel { $0.append("second") } }
      async let second = dispatcher.dispatch(
        storeIdentifier: "stage", action: block, mode: .serial
      ).result
      for result in await [first, second] where !result.isSuccess { throw StageFright() }
      withExtendedLifetime(token) {}
    }
  }

  /// The block waits for a `.sync` dispatch whose operation commits on a thread of the program's own.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func anObserverOnTheThreadOfACallback(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    dispatcher.addStage("outer")
    let observed = dispatcher.addStage("observed")
    let token = observed.observe(.model) { change in
      if change.value.last == "called", let result = Self.waitsBehind(dispatcher, mode) {
        results.record(result)
      }
    }
    let inner = Script.controls { operation, _ in
      Thread {
        operation.updateModel { $0.append("called") }
        operation.finish()
      }.start()
    }
    let outer = Script.runs { _ in
      dispatcher.dispatch(storeIdentifier: "observed", action: inner, mode: .sync)
    }
    let handle = dispatcher.dispatch(storeIdentifier: "outer", action: outer, mode: mode)
    #expect(await handle.result.isSuccess)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock])
    withExtendedLifetime(token) {}
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func awaitingItWithATaskExecutorPreference(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    let script = Script.suspends { _ in
      await withTaskExecutorPreference(globalConcurrentExecutor) {
        results.record(
          await dispatcher.dispatch(action: Script.adds("inner"), mode: mode).result)
      }
      results.record(await dispatcher.dispatch(action: Script.adds("inner"), mode: mode).result)
    }
    #expect(await dispatcher.dispatch(action: script, mode: mode).result.isSuccess)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock])
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aSyncWaitInAnImmediateTask(_ mode: Dispatcher.Mode) async {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else { return }
    let (dispatcher, results) = (dispatcher, results)
    let waits: @Sendable () -> Void = {
      _ = Task.immediate {
        if let result = Self.waitsBehind(dispatcher, mode) { results.record(result) }
      }
    }
    let scripts = [Script.runs { _ in waits() }, Script.suspends { _ in waits() }]
    for script in scripts {
      #expect(await dispatcher.dispatch(action: script, mode: mode).result.isSuccess)
    }
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock, .wouldDeadlock])
  }

  // MARK: Dependencies

  /// A script whose operation depends on the one of the script before it in the chain.
  private func link(
    _ chain: Recorder<Foundation.Operation>, then block: @escaping @Sendable () -> Void = {}
  ) -> Script {
    .answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in block() }
      if let last = chain.all.last { operation.addDependency(last) }
      chain.record(operation)
      return operation
    }
  }

  /// The same with an `async` block, or with an operation at another place of the chain.
  private func suspendingLink(
    _ chain: Recorder<Foundation.Operation>, after place: Int? = nil,
    then block: @escaping @Sendable () async -> Void
  ) -> Script {
    .answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in await block() }
      if let dependency = place.map({ chain.all[$0] }) ?? chain.all.last {
        operation.addDependency(dependency)
      }
      chain.record(operation)
      return operation
    }
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func aSyncDispatchWhoseOperationDependsOnTheBlocksOwn(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    let chain = Recorder<Foundation.Operation>()
    let inner = link(chain)
    let outer = link(chain) {
      let handle = dispatcher.dispatch(action: inner, mode: .sync, line: 2)
      if let result = handle.resultIfEnded { results.record(result) }
    }
    let result = await onOwnThread { [dispatcher] in
      dispatcher.dispatch(action: outer, mode: mode, line: 1)
    }.result
    #expect(result.isSuccess)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock])
    let error = results.all.first?.error as? DispatchError
    #expect(error?.callSites.map(\.line) == [2, 1])
    // The chain goes on.
    #expect(await dispatcher.dispatch(action: link(chain), mode: .async).result.isSuccess)
  }

  @Test(arguments: Dispatcher.Mode.everyMode)
  func awaitingADispatchWhoseOperationDependsOnTheBlocksOwn(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    let chain = Recorder<Foundation.Operation>()
    let inner = Script.answers { action, store in
      let operation = Script.Operation(action: action, store: store) { _, _ in }
      operation.addDependency(chain.all[0])
      return operation
    }
    let outer = suspendingLink(chain) {
      for _ in 0..<10 {
        let handle = dispatcher.dispatch(action: inner, mode: .async, line: 2)
        results.record(await handle.result)
      }
    }
    let handle = await onOwnThread { [dispatcher] in
      dispatcher.dispatch(action: outer, mode: mode, line: 1)
    }
    #expect(await handle.result.isSuccess)
    #expect(results.all.map(\.errorCode) == Array(repeating: .wouldDeadlock, count: 10))
  }

  @Test(arguments: Dispatcher.Mode.laneModes)
  func aDependencyThroughAProgramsOwnOperation(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    let chain = Recorder<Foundation.Operation>()
    let inner = link(chain)
    let outer = suspendingLink(chain) {
      let between = BlockOperation {}
      between.addDependency(chain.all[0])
      chain.record(between)
      let queue = OperationQueue()
      queue.add(between)
      let handle = dispatcher.dispatch(action: inner, mode: .serial(lane: "other"), line: 2)
      results.record(await handle.result)
    }
    #expect(await dispatcher.dispatch(action: outer, mode: mode, line: 1).result.isSuccess)
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock])
  }

  /// An operation on a lane depends on one whose block waits for that lane.
  @Test(arguments: Dispatcher.Mode.laneModes)
  func aDependencyOnABlockThatWaitsForTheLane(_ mode: Dispatcher.Mode) async {
    let (dispatcher, results) = (dispatcher, results)
    let chain = Recorder<Foundation.Operation>()
    let (held, dispatched) = (Latch(), Latch())
    let outer = suspendingLink(chain) {
      await dispatched.opened()
      let behind = dispatcher.dispatch(action: Script.adds("behind"), mode: mode)
      held.open()
      results.record(await behind.result)
    }
    let first = dispatcher.dispatch(action: outer, mode: .async)
    _ = await chain.first(1)
    let second = dispatcher.dispatch(action: link(chain), mode: mode)
    dispatched.open()
    await held.opened()
    let ends = await [first.result, second.result]
    _ = await dispatcher.dispatch(action: Script.adds("last"), mode: mode).result
    // Either the wait is refused or the dependency.
    let codes = (results.all + ends).compactMap(\.errorCode)
    #expect(codes == [.wouldDeadlock])
  }

  /// The thread that would run the block waits in another store of the same dispatch.
  @Test(arguments: [false, true])
  func aDependencyOnABlockThatNeedsTheThreadThatWaits(_ isSent: Bool) async {
    let (dispatcher, results) = (dispatcher, results)
    for name in ["block", "waits", "inner", "depends"] { dispatcher.addStage(name) }
    let chain = Recorder<Foundation.Operation>()
    let inner = Script.suspends { _ in
      let depends = Script.answers { action, store in
        let operation = Script.Operation(action: action, store: store) { _, _ in }
        operation.addDependency(chain.all[0])
        return operation
      }
      let handle = dispatcher.dispatch(storeIdentifier: "depends", action: depends, mode: .async)
      results.record(await handle.result)
    }
    let outer = Script.answers { action, store in
      switch store.identifier {
      case "block":
        let operation = Script.Operation(action: action, store: store) { _, _ async in
          await Task.yield()
        }
        chain.record(operation)
        return operation
      case "waits":
        return Script.Operation(action: action, store: store) { _, _ in
          dispatcher.dispatch(storeIdentifier: "inner", action: inner, mode: .sync)
        }
      default: return Script.Operation(action: action, store: store) { _, _ in }
      }
    }
    if isSent {
      await dispatcher.send(outer, mode: .serial)
    } else {
      await onOwnThread { _ = dispatcher.dispatch(action: outer, mode: .sync) }
    }
    // Either the wait is refused or the dependency.
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock])
  }

  /// It would block a thread that the other operation's task may need; a thread of the program's own waits.
  @Test(arguments: [false, true])
  func aDependencyOfASyncDispatchInATaskOnABlockInATask(isBehindAnother: Bool) async {
    let (dispatcher, results) = (dispatcher, results)
    for name in ["holds", "between", "depends"] { dispatcher.addStage(name) }
    let (chain, held, free) = (Recorder<Foundation.Operation>(), Latch(), Latch())
    let ran = Recorder<Bool>()
    let holds = suspendingLink(chain) {
      held.open()
      await free.opened()
    }
    let task = Task { await dispatcher.send(holds, to: "holds", mode: .async) }
    await held.opened()
    if isBehindAnother {
      let script = suspendingLink(chain) { ran.record(free.isOpen) }
      dispatcher.dispatch(storeIdentifier: "between", action: script, mode: .async)
      // Not by `standing()`, which would mark the operation as reached.
      let between = await chain.first(2)[1] as! Script.Operation
      while between.withState(\.awaited).isEmpty { await Task.yield() }
    }
    // Not after the last one: that of a refused dispatch has finished, and nobody waits for it.
    let script = suspendingLink(chain, after: isBehindAnother ? 1 : 0) { ran.record(free.isOpen) }
    let depends = { @Sendable in
      dispatcher.dispatch(storeIdentifier: "depends", action: script, mode: .sync).resultIfEnded!
    }
    await Task.detached { results.record(depends()) }.value
    #expect(results.all.map(\.errorCode) == [.wouldDeadlock])
    let onThread = Task { await onOwnThread { depends() } }
    _ = await chain.first(isBehindAnother ? 4 : 3)
    free.open()
    #expect(await onThread.value.isSuccess)
    #expect(await task.value.isSuccess)
    #expect(ran.all == (isBehindAnother ? [true, true] : [true]))
  }

  /// Whichever wait begins first, the other one is refused.
  @Test func aDependencyOfASyncDispatchInATaskOnABlockThatWaitsForATask() async {
    let (dispatcher, results) = (dispatcher, results)
    for name in ["awaits", "depends"] { dispatcher.addStage(name) }
    let (chain, held, free) = (Recorder<Foundation.Operation>(), Latch(), Latch())
    let holder = Task {
      await dispatcher.send(
        Script.holds(opening: held, until: free), to: "stage", mode: .serial(lane: "held"))
    }
    await held.opened()
    let awaits = suspendingLink(chain) {
      _ = await chain.first(2)
      let behind = dispatcher.dispatch(
        storeIdentifier: "stage", action: Script.adds("behind"), mode: .serial(lane: "held"))
      results.record(await behind.result)
    }
    let handle = dispatcher.dispatch(storeIdentifier: "awaits", action: awaits, mode: .async)
    _ = await chain.first(1)
    let depends = link(chain)
    await Task.detached {
      results.record(
        dispatcher.dispatch(storeIdentifier: "depends", action: depends, mode: .sync)
          .resultIfEnded!)
    }.value
    free.open()
    _ = await handle.result
    _ = await holder.value
    #expect(results.all.compactMap(\.errorCode) == [.wouldDeadlock])
  }

  /// In a process of its own: on Linux, Foundation blocks a thread for ever that adds such a dependency.
  @Test func aDependencyOnTheOperationItself() async {
    await #expect(processExitsWith: .success) {
      alarm(60)
      let dispatcher = makeStage().dispatcher
      let script = Script.answers { action, store in
        let operation = Script.Operation(action: action, store: store) { _, _ in }
        operation.addDependency(operation)
        return operation
      }
      for mode in Dispatcher.Mode.everyMode {
        let handle = await onOwnThread { dispatcher.dispatch(action: script, mode: mode) }
        #expect(await handle.result.errorCode == .wouldDeadlock, "\(mode)")
        #expect(await dispatcher.dispatch(action: Script.adds("next"), mode: mode).result.isSuccess)
      }
    }
  }

  // MARK: The message

  @Test func namesAllLanesHoldersAndCallSitesInTheOrderOfTheRing() async {
    let (dispatcher, results) = (dispatcher, results)
    let inner = Script.suspends { _ in
      let last = dispatcher.dispatch(
        action: Script.adds("last"), mode: .serial(lane: "one"), line: 3)
      results.record(await last.result)
    }
    let outer = Script.suspends { _ in
      let middle = dispatcher.dispatch(action: inner, mode: .serial(lane: "two"), line: 2)
      results.record(await middle.result)
    }
    _ = await dispatcher.dispatch(action: outer, mode: .serial(lane: "one"), line: 1).result
    let error = results.all.lazy.compactMap(\.dispatchError).first
    // The second waits for the third, which needs the lane of the first, which waits for the second; the
    // wait is refused that comes last.
    if error?.callSites.map(\.line) == [1, 2, 3] { return }
    #expect(error?.callSites.map(\.line) == [2, 3, 1])
    let message = error?.message ?? ""
    var rest = message[...]
    for part in [
      "DeadlockRingTests.swift:2", "DeadlockRingTests.swift:3", "lane \"one\"",
      "DeadlockRingTests.swift:1", "DeadlockRingTests.swift:2",
    ] {
      guard let range = rest.range(of: part) else {
        Issue.record("\(part) is not where it belongs in: \(message)")
        return
      }
      rest = rest[range.upperBound...]
    }
  }

  @Test func namesBothLanesWhereTheRingPassesThroughBoth() async {
    let (dispatcher, results) = (dispatcher, results)
    let isHeld = Latch()
    // Its lane waits for a dispatch on the other one, which awaits one behind it.
    let first = Script.suspends { _ in
      await isHeld.opened()
      results.record(
        await dispatcher.dispatch(action: Script.adds("b"), mode: .serial(lane: "b"), line: 3)
          .result)
    }
    let second = Script.suspends { _ in
      isHeld.open()
      results.record(
        await dispatcher.dispatch(action: Script.adds("a"), mode: .serial(lane: "a"), line: 4)
          .result)
    }
    let handles = [
      dispatcher.dispatch(action: first, mode: .serial(lane: "a"), line: 1),
      dispatcher.dispatch(action: second, mode: .serial(lane: "b"), line: 2),
    ]
    for handle in handles { _ = await handle.result }
    let errors = results.all.compactMap { $0.error as? DispatchError }
    #expect(errors.count == 1)
    let message = errors.first?.message ?? ""
    for part in ["lane \"a\"", "lane \"b\""] { #expect(message.contains(part), "\(message)") }
    #expect(
      [[1, 3, 2, 4], [2, 4, 1, 3]].contains(errors.first?.callSites.map(\.line)), "\(message)")
  }

  // MARK: Cost

  @Test func twentyThousandChildTasksMayAwaitDispatchesOnAnotherLane() async {
    let (dispatcher, results) = (dispatcher, results)
    let count = Load.count(20_000)
    let script = Script.suspends { _ in
      await withTaskGroup(of: DispatchResult.self) { group in
        for _ in 0..<count {
          group.addTask {
            await dispatcher.dispatch(
              action: Script.runs { _ in }, mode: .serial(lane: "other")
            ).result
          }
        }
        for await result in group where !result.isSuccess { results.record(result) }
      }
    }
    #expect(await dispatcher.dispatch(action: script, mode: .serial).result.isSuccess)
    #expect(results.count == 0)
  }

  /// Each lane's block waits for the other lane in thousands of tasks, of which the first that is searched closes a ring.
  @Test func twoBlocksMayAwaitEachOthersLanesInThousandsOfChildTasks() async {
    let (dispatcher, results) = (dispatcher, results)
    let count = Load.count(10_000)
    @Sendable func script(_ other: String) -> Script {
      .suspends { _ in
        await withTaskGroup(of: DispatchResult.self) { group in
          for _ in 0..<count {
            group.addTask {
              await dispatcher.dispatch(
                action: Script.runs { _ in }, mode: .serial(lane: other)
              ).result
            }
          }
          for await result in group where !result.isSuccess { results.record(result) }
        }
      }
    }
    let handles = [("a", "b"), ("b", "a")].map { lane, other in
      dispatcher.dispatch(action: script(other), mode: .serial(lane: lane))
    }
    for handle in handles { #expect(await handle.result.isSuccess) }
    #expect(results.count <= count)
    #expect(results.all.allSatisfy { $0.errorCode == .wouldDeadlock })
  }
}
