import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// Handlers that block their threads outside of the library, and so give up no place, have all places of the queue.
@Suite("While handlers block all places", .timeLimit(.minutes(10)))
struct BlockedPlacesTests {
  let clock = VirtualClock()
  let free = Latch()

  enum Queue: CaseIterable { case ofTheLibrary, ofAUser, suspended }

  private func makeDispatcher(_ width: Int, _ queue: Queue) -> Dispatcher {
    let dispatcher =
      queue == .ofAUser ? Dispatcher(queue: .wide(width), clock: clock) : Dispatcher(clock: clock)
    dispatcher.queue.maxConcurrentOperationCount = width
    dispatcher.addStage()
    return dispatcher
  }

  /// Returns a dispatcher on whose queue a blocked handler has each place, in a lane of its own.
  private func blocked(
    _ width: Int, _ queue: Queue, _ options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil
  ) async -> (Dispatcher, [DispatchHandle]) {
    let dispatcher = makeDispatcher(width, queue)
    return (dispatcher, await block(dispatcher, width, queue, options, then: completion))
  }

  private func block(
    _ dispatcher: Dispatcher, _ width: Int, _ queue: Queue, _ options: DispatchOptions = [],
    then completion: (@Sendable (DispatchResult) -> Void)? = nil
  ) async -> [DispatchHandle] {
    let (free, began) = (free, Recorder<Int>())
    let handles = (0..<width).map { index in
      let script = Script.runs { _ in
        began.record(index)
        free.wait()
      }
      return dispatcher.dispatch(
        script, mode: .serial(lane: index), options: options, then: completion)
    }
    _ = await began.first(width)
    if queue == .suspended { dispatcher.queue.isSuspended = true }
    return handles
  }

  @Test(arguments: [1, 2], Queue.allCases)
  func resultsAndCompletionsComeAtTheDeadline(_ width: Int, _ queue: Queue) async {
    let (completions, ends) = (Recorder<DispatchError.Code?>(), Recorder<Bool>())
    let (dispatcher, handles) = await blocked(width, queue, .timeout(.seconds(1))) {
      completions.record($0.dispatchError?.code)
    }
    for handle in handles { handle.whenEnded { ends.record($0.isSuccess) } }
    let next = dispatcher.dispatch(Script.adds("next"))
    await clock.pass(.seconds(1))
    for handle in handles { #expect(await handle.result.dispatchError?.code == .timedOut) }
    #expect(completions.count == width && completions.all.allSatisfy { $0 == .timedOut })
    #expect(await ends.first(width).allSatisfy { !$0 })
    #expect(!next.hasEnded, "No action starts beside those that have the places.")
    free.open()
    dispatcher.queue.isSuspended = false
    #expect(await next.result.isSuccess)
  }

  @Test(arguments: [1, 2], Queue.allCases)
  func whatWaitsEndsWhenItIsCancelled(_ width: Int, _ queue: Queue) async {
    let (dispatcher, handles) = await blocked(width, queue)
    for mode in [.async, .serial, .serial(lane: 0)] as [Dispatcher.Mode] {
      let completed = Latch()
      let waiting = dispatcher.dispatch(Script.adds("never"), mode: mode) { _ in completed.open() }
      waiting.cancel()
      #expect(await waiting.result["stage"].isCancelled == true)
      #expect(completed.isOpen)
    }
    free.open()
    dispatcher.queue.isSuspended = false
    for handle in handles { #expect(await handle.result.isSuccess) }
  }

  @Test(arguments: [1, 2], Queue.allCases)
  func whatRunsNoActionEnds(_ width: Int, _ queue: Queue) async {
    let (dispatcher, handles) = await blocked(width, queue)
    let counter = dispatcher.register(store: CounterStore.counter("counter"))
    for mode in [.async, .serial] as [Dispatcher.Mode] {
      #expect(await dispatcher.dispatch(actions: [], mode: mode).result.isSuccess)
      let cancelled = counter.updateModel { _ -> DispatchHandle in
        let handle = dispatcher.dispatch(Script.adds("never"), mode: mode)
        handle.cancel()
        return handle
      }
      let result = await cancelled.result
      #expect(result.error is CancellationError)
      let key = DispatchOptions.idempotencyKey("key", remembered: .zero)
      let first = dispatcher.dispatch(Script.adds("never"), mode: mode, options: key)
      let repeated = dispatcher.dispatch(Script.adds("never"), mode: mode, options: key)
      first.cancel()
      #expect(await repeated.result["stage"].isCancelled == true)
    }
    free.open()
    dispatcher.queue.isSuspended = false
    for handle in handles { #expect(await handle.result.isSuccess) }
  }

  @Test(arguments: [Queue.ofTheLibrary, .ofAUser], [DispatchOptions(), .detached])
  func aSentActionThatOnlyReducesRunsInItsTask(_ queue: Queue, _ options: DispatchOptions) async {
    let (dispatcher, handles) = await blocked(1, queue)
    dispatcher.register(store: WalletStore.wallet())
    let deposit = Deposit(account: "a", amount: 1)
    #expect(await dispatcher.send(deposit, options: options).isSuccess)
    free.open()
    for handle in handles { #expect(await handle.result.isSuccess) }
  }

  @Test(arguments: [1, 2], Queue.allCases)
  func whatIsBeingSavedEndsAtItsDeadline(_ width: Int, _ queue: Queue) async throws {
    let (dispatcher, database) = (makeDispatcher(width, queue), MemoryDatabase())
    let persistence = try await database.open(for: dispatcher)
    let wallet = try await dispatcher.register(
      store: WalletStore.wallet(), persisted: .elements(\.all))
    try await persistence.flush()
    database.hold()
    let (completions, deposit) = (Recorder<DispatchError.Code?>(), Deposit(account: "a", amount: 1))
    let options: DispatchOptions = [.exclusive("key"), .timeout(.seconds(1))]
    let completion: @Sendable (DispatchResult) -> Void = {
      completions.record($0.dispatchError?.code)
    }
    var saved: [DispatchHandle] = []
    for mode in [.async, .serial, .serial(lane: "saved")] as [Dispatcher.Mode] {
      saved.append(
        dispatcher.dispatch(deposit, mode: mode, options: options, then: completion))
      // Before its start, the next dispatch would get the key.
      for await change in wallet.stream(.model, initial: true, buffering: .unbounded)
      where change.value.all["a"] == saved.count { break }
      // The key is free once only saving is left.
      await dispatcher.send(
        SetNote(note: "x"), options: [.exclusive("key"), .durability(.memory)])
    }
    let handles = await block(dispatcher, width, queue)
    clock.advance(by: .seconds(1))
    for handle in saved {
      let error = await handle.result.dispatchError
      #expect(
        error?.code == .timedOut && error?.message.contains("have committed") == true,
        "\(error?.message ?? "")")
    }
    #expect(completions.count == 3 && completions.all.allSatisfy { $0 == .timedOut })
    free.open()
    dispatcher.queue.isSuspended = false
    database.release()
    for handle in handles { #expect(await handle.result.isSuccess) }
  }

  /// Its lane's thread would run it, so its task waits.
  @Test(arguments: [1, 2], Queue.allCases)
  func aReductionThatIsSentToABusyLaneEndsAtItsDeadline(_ width: Int, _ queue: Queue) async {
    let (dispatcher, handles) = await blocked(width, queue)
    dispatcher.register(store: CounterStore.counter("counter"))
    let lane: Dispatcher.SendMode = .serial(lane: 0)
    let sent = Task {
      await dispatcher.send(
        CounterAction.add(1), mode: lane, options: .timeout(.seconds(1))
      ).result
    }
    await clock.pass(.seconds(1))
    #expect(await sent.value.dispatchError?.code == .timedOut)
    free.open()
    dispatcher.queue.isSuspended = false
    for handle in handles { #expect(await handle.result.isSuccess) }
  }

  @Test(arguments: [1, 2], Queue.allCases)
  func aDrainReportsAtItsLimit(_ width: Int, _ queue: Queue) async {
    let (dispatcher, handles) = await blocked(width, queue)
    let reports = Recorder<Bool>()
    dispatcher.drain(timeout: .seconds(1)) { reports.record($0.isComplete) }
    await clock.pass(.seconds(1))
    #expect(await reports.first(1) == [false])
    free.open()
    dispatcher.queue.isSuspended = false
    for handle in handles { #expect(await handle.result.isSuccess) }
  }

  /// A completion that waits for a dispatch gives its part to another thread.
  @Test(arguments: [1, 2], Queue.allCases)
  func aCompletionThatWaitsHoldsUpNoOther(_ width: Int, _ queue: Queue) async {
    let (dispatcher, handles) = await blocked(width, queue)
    let (waits, others) = (Latch(), Recorder<Int>())
    let first = dispatcher.dispatch(Script.adds("never")) { _ in
      waits.open()
      handles[0].wait()
    }
    first.cancel()
    await waits.opened()
    for number in 0..<3 {
      dispatcher.dispatch(Script.adds("never")) { _ in others.record(number) }.cancel()
    }
    #expect(await others.first(3).sorted() == [0, 1, 2])
    free.open()
    dispatcher.queue.isSuspended = false
    #expect(await first.result["stage"].isCancelled == true)
  }
}
