import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// Bugs that exploration has found in the engine, each in a scenario that fails within few seeds.
@Suite("Regressions of the engine")
struct EngineRegressionTests {
  /// A drainer read that the queue was not suspended, and then ran an action that was pushed after it was.
  @Test(arguments: [Dispatcher.Mode.serial, .async])
  func whatIsDispatchedWhileTheQueueIsSuspendedDoesNotStart(_ mode: Dispatcher.Mode) async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      let first = dispatcher.dispatch(action: Note.add(1), mode: mode)
      // The drainer may not have left yet.
      while notes.model.numbers.isEmpty {}
      dispatcher.queue.isSuspended = true
      let second = dispatcher.dispatch(action: Note.add(2), mode: mode)
      for _ in 0..<4 where notes.model.numbers.contains(2) {
        throw Broken(description: "it started: \(notes.model.numbers)")
      }
      dispatcher.queue.isSuspended = false
      _ = await (first.result, second.result)
    }
  }

  /// One that a rate limit refused had the key until then, and skipped another: none of them ran.
  @Test func whatARateLimitRefusesSkipsNoOther() async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      let limited = DispatchOptions.rateLimited(by: RateLimit(1, per: .seconds(60)))
      let single = DispatchOptions.skippedIfInFlight("one")
      _ = await dispatcher.dispatch(action: Note.add(1), mode: .async, options: limited).result
      await withTaskGroup { group in
        for (number, options) in [(2, [limited, single]), (3, single)] as [(Int, DispatchOptions)] {
          group.addTask {
            _ = await dispatcher.dispatch(
              action: Note.add(number), mode: .async, options: options
            ).result
          }
        }
      }
      try check(notes.model.numbers == [1, 3], "\(notes.model)")
    }
  }

  /// Work that was removed while its dead letter became work again was entered once more, and stayed pending for ever.
  @Test func workIsRemovedAlsoWhileItsDeadLetterIsRunAgain() async throws {
    struct Charge: ActionType {}
    try await explore(seeds: seeds(1_000)) { dispatcher in
      dispatcher.onWarning { _ in }
      dispatcher.register(
        store: Store(identifier: "orders", model: 0) { On(Charge.self) { count, _ in count += 1 } })
      dispatcher.register(
        effect: DurableEffect("charge", on: Charge.self, attempts: 1) { _, _ in
          throw Broken(description: "closed")
        })
      await dispatcher.dispatch(Charge()).settled()
      let letters = dispatcher.deadLetters
      try check(letters.count == 1, "\(letters)")
      await withTaskGroup { group in
        group.addTask { _ = dispatcher.runAgain(letters[0]) }
        group.addTask { for work in dispatcher.pendingEffects { dispatcher.remove(work) } }
      }
      await dispatcher.drain()
      try check(dispatcher.pendingEffects.isEmpty, "\(dispatcher.pendingEffects)")
    }
  }

  /// One that was made while a transfer waited for its second store undid the first half alone.
  @Test func aHistoryHasNoHalfOfAnAtomicAction() async throws {
    struct Transfer: AtomicAction {}
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let stores = ["a", "b"].map { name in
        dispatcher.register(
          store: Store(identifier: name, model: 0) {
            On(Transfer.self) { balance, _ in balance += name == "a" ? -1 : 1 }
          })
      }
      let transfers = (0..<2).map { _ in dispatcher.dispatch(Transfer(), mode: .async) }
      let history = UndoHistory(of: stores[0], stores[1])
      for transfer in transfers { _ = await transfer.result }
      while history.canUndo { await history.undo().ended() }
      let balances = stores.map(\.model)
      try check(balances[0] + balances[1] == 0, "\(balances)")
    }
  }

  /// Where a dispatch ended after `whenEnded` had looked for that, and before it looked for the queue, its closure could
  /// be called on a thread of the system's.
  @Test(arguments: [Dispatcher.Mode.async, .serial])
  func aClosureForItsEndIsCalledInItsWorld(_ mode: Dispatcher.Mode) async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      for number in 1...3 {
        let handle = dispatcher.dispatch(action: Note.add(number), mode: mode)
        await withCheckedContinuation { ended in handle.whenEnded { _ in ended.resume() } }
      }
      _ = notes.model
    }
  }

  /// A dispatch that was cancelled while it waited had no queue until its end, so its closure was called on a thread of
  /// the system's, and what that dispatched came from outside.
  @Test(arguments: [Dispatcher.Mode.async, .serial])
  func aClosureForTheEndOfACancelledDispatchIsCalledInItsWorld(
    _ mode: Dispatcher.Mode
  ) async throws {
    try await explore(seeds: seeds(300)) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      dispatcher.queue.isSuspended = true
      let handle = dispatcher.dispatch(action: Note.add(1), mode: mode)
      handle.cancel()
      await withCheckedContinuation { ended in
        handle.whenEnded { _ in
          dispatcher.dispatch(action: Note.add(2), mode: .sync)
          ended.resume()
        }
      }
      dispatcher.queue.isSuspended = false
      try check(notes.model.numbers == [2], "\(notes.model)")
    }
  }

  /// A reducer failed after the deadline, and before the result was made: all stores had the outcome of the first one.
  @Test(arguments: [Dispatcher.Mode.async, .serial])
  func atADeadlineNoStoreOfAnAtomicActionHasTheErrorOfAnother(_ mode: Dispatcher.Mode) async throws
  {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      for name in ["a", "b", "c", "d", "e", "f"] {
        let reducer = LateReducer { if name == "b" { throw Broken(description: "b") } }
        dispatcher.register(store: Store(identifier: name, reducer: reducer))
      }
      if let simulation = dispatcher.simulation {
        simulation.atSomeTime { simulation.clock.advance(by: .seconds(2)) }
      }
      let result = await dispatcher.dispatch(
        action: Late(), mode: mode, options: [.atomic, .timeout(.seconds(1))]
      ).result
      for store in result.stores where store.storeIdentifier == "b" {
        guard case .failed(let error) = store.outcome else { continue }
        try check(error is Broken, "\(result)")
      }
    }
  }

  /// With a time limit each store took a step of its own, which costs more than the reduction.
  @Test func storesThatOnlyReduceRunInOneStep() async {
    for seed in 0..<20 {
      let report = await Simulation(seed: UInt64(seed)).run { dispatcher in
        for name in ["a", "b", "c"] { _ = dispatcher.makeNotes(name) }
        let handle = dispatcher.dispatch(
          action: Note.add(1), mode: .async, options: .timeout(.seconds(60)))
        await handle.ended()
      }
      #expect(report.failure == nil)
      let starts = report.trace.steps.filter { $0.transition == "start the operation" }
      #expect(starts.map(\.subject) == ["a", "b", "c"])
      #expect(Set(starts.map(\.thread)).count == 1)
    }
  }

  /// A cancellation came after the round had taken the operation from the dispatch, and before the round had
  /// stored it, so neither cancelled the operation.
  @Test(arguments: [Dispatcher.Mode.async, .serial])
  func anOperationIsCancelledWithItsDispatch(_ mode: Dispatcher.Mode) async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let running = AsyncStream<RunningOperation<Notes, Note>>.makeStream()
      _ = MockStore<Notes, Note>(
        identifier: "notes", model: Notes(), dispatcher: dispatcher,
        answer: .run { running.continuation.yield($0) })
      let handle = dispatcher.dispatch(action: Note.add(1), mode: mode)
      for await operation in running.stream.prefix(1) {
        handle.cancel()
        let isCancelled = operation.isCancelled
        operation.finish()
        try check(isCancelled, "the operation is not cancelled")
      }
      _ = await handle.result
    }
  }

  /// An observer of a `.sync` dispatch changed the store, and that change was left to another thread: the
  /// dispatch returned without waiting for its delivery, and its completion ran later.
  @Test func aSynchronousDispatchReturnsAfterItsCompletionWhereItsObserverChangesTheStore()
    async throws
  {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      let token = notes.observe(.model) { change in
        if change.version == 1 { notes.updateModel { $0.numbers.append(10) } }
      }
      let ended = Counted()
      try await withThrowingTaskGroup { group in
        for number in 1...2 {
          group.addTask {
            let handle = dispatcher.dispatch(action: Note.add(number), mode: .sync) {
              ended.add(number)
            }
            try check(handle.hasEnded && ended.has(number), "\(number) returned before its end")
          }
        }
        try await group.waitForAll()
      }
      token.cancel()
    }
  }

  /// An observer waited, while it was called for a change that another dispatch had left to this thread, for
  /// what stood behind that dispatch: neither went on.
  @Test func anObserverMayWaitForWhatStandsBehindTheChangeThatItGets() async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let notes = dispatcher.makeNotes("notes")
      let token = notes.observe(.model) { change in
        guard change.action == .add(2) else { return }
        let behind = dispatcher.dispatch(action: Note.add(3), mode: .serial)
        dispatcher.dispatch(actions: [], mode: .sync, options: .after(behind))
      }
      async let first = dispatcher.dispatch(action: Note.add(1), mode: .sync).result
      async let second = dispatcher.dispatch(action: Note.add(2), mode: .serial).result
      _ = await (first, second)
      token.cancel()
    }
  }

  /// What a block had sent came to wait for the block's lane before the wait of the block was known, so both waited for
  /// ever.
  @Test func aSendThatHasBegunElsewhereAndClosesADeadlockIsNotAwaited() async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let refused = Counted()
      dispatcher.register(
        store: Store(identifier: "links", model: 0) {
          Perform(Link.self) { link, context in
            guard link.number < 3 else { return }
            let isFirst = link.number == 1
            let result = await context.dispatcher.send(
              Link(number: link.number + 1), mode: .serial(lane: isFirst ? "inner" : "outer"),
              options: isFirst ? .detached : [])
            if result.dispatchError?.code == .wouldDeadlock { refused.add(link.number) }
          }
        })
      let first = dispatcher.dispatch(action: Link(number: 1), mode: .serial(lane: "outer"))
      let result = await first.result
      try check(result.isSuccess, "\(result)")
      await dispatcher.drain()
      try check(refused.has(1) != refused.has(2), "not one of the two waits was refused")
    }
  }

  /// A lane started a reduction whose task was cancelled while it waited: the thread that cancels it with its task had not
  /// come yet.
  @Test func aReductionWhoseTaskIsCancelledWhileItWaitsDoesNotStart() async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let (notes, goOn) = (dispatcher.makeNotes("notes"), AsyncStream<Void>.makeStream())
      dispatcher.register(
        store: Store(identifier: "holder", model: 0) {
          Perform(Order.self) { _, _ in
            for await _ in goOn.stream {}
          }
        })
      let holder = dispatcher.dispatch(action: Order(), mode: .serial(lane: "a"))
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          let result = await notes.send(.add(1), mode: .serial(lane: "a")).result
          try check(result.error is CancellationError, "\(result)")
        }
        // Time passes once no thread can run: the task waits for its turn.
        try await dispatcher.simulation?.clock.sleep(for: .seconds(1))
        group.cancelAll()
        goOn.continuation.finish()
        try await group.waitForAll()
      }
      let result = await holder.result
      try check(result.isSuccess, "\(result)")
      try check(notes.model.numbers.isEmpty, "\(notes.model)")
    }
  }

  /// A step had come to wait for the caller's lane before the group's wait for the step was known.
  ///
  /// That was refused. The group went on beside the step's block, and did not undo it.
  @Test func aStepThatHasBegunWhenTheWaitForItIsRefusedIsUndone() async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let till = dispatcher.register(
        store: Store(identifier: "till", model: [String]()) {
          Perform(Order.self) { _, context in
            _ = await context.dispatcher.send(
              ActionGroup {
                ActionStep(Charge()).compensated(by: Refund(), ifOnlyBegun: true)
              }, options: .named("order"))
          }
          Perform(Charge.self) { _, context in
            try context.updateModel { $0.append("charge") }
            _ = await context.dispatcher.send(Receipt(), mode: .serial(lane: "till"))
            throw Declined()
          }
          On(Refund.self) { till, _ in till.append("refund") }
          On(Receipt.self) { till, _ in till.append("receipt") }
        })
      let order = dispatcher.dispatch(action: Order(), mode: .serial(lane: "till"))
      let result = await order.result
      try check(result.isSuccess, "\(result)")
      try check(till.model == ["charge", "refund"], "\(till.model)")
    }
  }

  /// A compensation had come to wait for the caller's lane before the group's wait for the compensation was known.
  ///
  /// That was refused, and the next compensation began beside it.
  @Test func aSentCompensationThatWaitsForTheLaneOfItsGroupEndsBeforeTheNextBegins() async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let till = dispatcher.register(
        store: Store(identifier: "till", model: [String]()) {
          Perform(Order.self) { _, context in
            _ = await context.dispatcher.send(
              ActionGroup {
                ActionStep(Receipt()).compensated(by: Refund())
                ActionStep(Receipt()).compensated(by: Recall())
                Decline()
              })
          }
          Perform(Recall.self) { _, context in
            try context.updateModel { $0.append("recall") }
            _ = await context.dispatcher.send(Receipt(), mode: .serial(lane: "till"))
            try context.updateModel { $0.append("recalled") }
          }
          On(Refund.self) { till, _ in till.append("refund") }
          On(Receipt.self) { till, _ in till.append("receipt") }
          On(Decline.self) { _, _ in throw Declined() }
        })
      let order = dispatcher.dispatch(action: Order(), mode: .serial(lane: "till"))
      let result = await order.result
      try check(result.isSuccess, "\(result)")
      let entries = ["receipt", "receipt", "recall", "recalled", "refund"]
      try check(till.model == entries, "\(till.model)")
    }
  }

  /// Nobody knew that a group waits for its steps.
  ///
  /// So a step waited behind a dispatch that waited for the group.
  @Test func aGroupAndADispatchAfterItEndInWhicheverOrderTheyCome() async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      _ = dispatcher.makeNotes("notes")
      let group = dispatcher.dispatch(
        ActionGroup {
          Note.add(1)
          ActionStep(Note.add(2), mode: .serial(lane: "a"))
        }, options: .named("group"))
      let later = dispatcher.dispatch(
        action: Note.add(3), mode: .serial(lane: "a"),
        options: .after(dispatcher.dispatches(named: "group")))
      let (result, last) = await (group.result, later.result)
      let isRefused = (result.error as? DispatchError)?.code == .wouldDeadlock
      try check(result.isSuccess || isRefused, "\(result)")
      try check(last.isSuccess, "\(last)")
    }
  }

  /// A drain ended when the last dispatch had left its stores, before its key was free and its handle had the result.
  @Test(arguments: [Dispatcher.Mode.async, .serial])
  func onceADispatcherIsDrainedItsHandlesHaveTheirResults(_ mode: Dispatcher.Mode) async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      _ = dispatcher.makeNotes("notes")
      let one = dispatcher.dispatch(
        action: Note.add(1), mode: mode, options: .exclusive("key"))
      let list = dispatcher.dispatch(
        actions: [Note.add(2), Note.add(3)], mode: mode, options: .exclusive("other"))
      let group = dispatcher.dispatch(
        ActionGroup {
          Note.add(4)
          Note.add(5)
        })
      await dispatcher.drain()
      try check(
        group.resultIfEnded?.isSuccess == true, "\(String(describing: group.resultIfEnded))")
      for handle in [one, list] {
        let result = handle.resultIfEnded
        try check(result?.isSuccess == true, "\(String(describing: result))")
      }
    }
  }

  /// A dispatch that its own hook cancelled, while it was accepted, was skipped by its lane, which retired: the
  /// thread that accepted it then used the lane, which was gone.
  @Test func aDispatchOfASectionThatItsHookCancelsOutlivesItsLane() async throws {
    try await explore(seeds: seeds(1_000)) { dispatcher in
      let source = Store<Notes, Note>(identifier: "source", reducer: NotesReducer())
      _ = dispatcher.makeNotes("notes")
      let made = Made()
      dispatcher.register(middleware: CancellingHook(made))
      source.updateModel { _ in
        made.handle = dispatcher.dispatch(action: Note.add(1), mode: .serial(lane: "once"))
      }
      let result = await made.handle!.result
      try check(result.error is CancellationError, "\(result)")
    }
  }
}

private struct Order: ActionType {}
private struct Charge: ActionType {}
private struct Refund: ActionType {}
private struct Recall: ActionType {}
private struct Receipt: ActionType {}
private struct Decline: ActionType {}
private struct Declined: Error {}

/// The first sends the second, which sends the third.
private struct Link: ActionType {
  let number: Int
}

/// Numbers that were added, from any thread.
private final class Counted: @unchecked Sendable {  // because `lock` guards the numbers
  private let lock = NSLock()
  private var numbers: Set<Int> = []

  func add(_ number: Int) { lock.withLock { _ = numbers.insert(number) } }
  func has(_ number: Int) -> Bool { lock.withLock { numbers.contains(number) } }
}

private struct Late: ActionType {}

private final class LateReducer: Reducer<Notes, Late> {
  private let body: @Sendable () throws -> Void

  init(_ body: @escaping @Sendable () throws -> Void) {
    self.body = body
  }

  override func reduce(into notes: inout Notes, action: Late) throws {
    try body()
  }
}

/// A handle that is set in an exclusive section.
private final class Made: @unchecked Sendable {  // because `lock` guards the handle
  private let lock = NSLock()
  private var stored: DispatchHandle?

  var handle: DispatchHandle? {
    get { lock.withLock { stored } }
    set { lock.withLock { stored = newValue } }
  }
}

/// Cancels the dispatch for which it is called.
private final class CancellingHook: Middleware {
  private let made: Made

  init(_ made: Made) {
    self.made = made
  }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    made.handle?.cancel()
    return .pass
  }
}
