import DispatchStore
import DispatchStoreTesting
import Foundation
import Testing

/// Dispatches that a task elsewhere sends to the main actor while that is busy: they wait as in any other lane.
@Suite("Sent to a busy main actor", .timeLimit(.minutes(10)))
struct BusyMainActorTests {
  enum Answer: CaseIterable { case reduction, block, suspendingBlock }
  enum End: CaseIterable { case byItsName, withItsTask, atItsDeadline }

  private let clock = VirtualClock()
  private let dispatcher: Dispatcher
  private let stage: Stage
  private let log = Recorder<String>()

  init() {
    dispatcher = Dispatcher(clock: clock)
    stage = dispatcher.addStage()
    dispatcher.register(store: CounterStore.counter())
    dispatcher.register(middleware: HookRecorder(to: log))
  }

  /// Sends from elsewhere; the action has its place in the lane when this returns.
  private func send(
    _ answer: Answer, _ options: DispatchOptions = []
  ) -> Task<DispatchResult, Never> {
    let (dispatcher, log) = (dispatcher, log)
    let completion: @Sendable (DispatchResult) -> Void = { _ in log.record("completion") }
    return Task.immediate {
      switch answer {
      case .reduction:
        await dispatcher.send(
          CounterAction.add(1), mode: .mainThread, options: options, then: completion
        ).result
      case .block:
        await dispatcher.send(
          Script.adds("x"), mode: .mainThread, options: options, then: completion
        ).result
      case .suspendingBlock:
        await dispatcher.send(
          Script.suspends { stage in
            await Task.yield()
            stage.updateModel { $0.append("x") }
          }, mode: .mainThread, options: options, then: completion
        ).result
      }
    }
  }

  @Test(arguments: Answer.allCases, End.allCases)
  func endsAtOnceAndWithItsHooks(_ answer: Answer, _ end: End) async {
    let busy = await BusyMainQueue.begin()
    let sent = send(answer, [.named("sent"), .timeout(.seconds(1))])
    #expect(dispatcher.dispatches(named: "sent").count == 1)
    switch end {
    case .byItsName:
      #expect(dispatcher.cancel(named: "sent") == 1)
    case .withItsTask:
      sent.cancel()
    case .atItsDeadline:
      await clock.pass(.seconds(1))
    }
    let result = await sent.value
    #expect(log.all == ["begin", "will", "did", "completion", "end"])
    busy.end()
    switch end {
    case .byItsName, .withItsTask: #expect(result.error is CancellationError)
    case .atItsDeadline: #expect(result.errorCode == .timedOut)
    }
    #expect(dispatcher.dispatches(named: "sent").isEmpty)
    #expect(await send(answer).value.isSuccess)
    #expect(log.count == 10)
  }

  @Test(arguments: Answer.allCases)
  func isWaitedForByADrainThatBeginsLater(_ answer: Answer) async {
    let (busy, dispatcher) = (await BusyMainQueue.begin(), dispatcher)
    let sent = send(answer)
    #expect(await dispatcher.drain(timeout: .zero).isComplete == false)
    let drain = Task { await dispatcher.drain().isComplete }
    busy.end()
    #expect(await drain.value)
    #expect(await sent.value.isSuccess)
  }

  @Test func hasItsPlaceFromTheCallOn() async {
    let (busy, dispatcher) = (await BusyMainQueue.begin(), dispatcher)
    let names = (0..<30).map { "\($0)" }
    var tasks: [Task<Bool, Never>] = []
    for (index, name) in names.enumerated() {
      switch index % 3 {
      case 0:
        let handle = dispatcher.dispatch(action: Script.adds(name), mode: .mainThread)
        tasks.append(Task { await handle.result.isSuccess })
      case 1:
        tasks.append(
          Task.immediate {
            await dispatcher.send(Script.adds(name), mode: .mainThread).isSuccess
          })
      default:
        tasks.append(
          Task.immediate {
            let script = Script.suspends { stage in
              await Task.yield()
              stage.updateModel { $0.append(name) }
            }
            return await dispatcher.send(script, mode: .mainThread).isSuccess
          })
      }
    }
    busy.end()
    for task in tasks { #expect(await task.value) }
    #expect(stage.model == names)
  }

  @Test(.enabled(if: ProcessInfo.processInfo.activeProcessorCount > 1))
  func holdsTheLaneUpByNoBusyActorOfItsTask() async {
    let (dispatcher, home, busy) = (dispatcher, Home(), await BusyMainQueue.begin())
    let sent = Task { await home.send(Script.adds("sent"), .named("sent"), by: dispatcher) }
    while dispatcher.dispatches(named: "sent").isEmpty { await Task.yield() }
    let (isBlocked, ends) = (Latch(), Recorder<Bool>())
    let block = Task { ends.record(await home.block(opening: isBlocked)) }
    await isBlocked.opened()
    busy.end()
    let next = dispatcher.dispatch(action: Script.adds("next"), mode: .mainThread)
    #expect(await next.result.isSuccess)
    #expect(stage.model == ["sent", "next"] && ends.count == 0)
    home.mayEnd.signal()
    await block.value
    #expect(ends.all == [true])
    #expect(await sent.value)
  }

  /// It has come to its turn there, waits for another dispatch, and is cancelled elsewhere.
  @Test func leavesItsPlaceToTheNextOneWhoseConditionIsCheckedOnTheMainQueue() async {
    let (dispatcher, stage, free, places) = (dispatcher, stage, Latch(), Recorder<Bool>())
    let other = dispatcher.addStage("other")
    let awaited = dispatcher.dispatch(
      storeIdentifier: "other", action: Script.suspends { _ in await free.opened() }, mode: .serial)
    let waits = send(.block, .after(awaited))
    // The main queue has come to the lane.
    await MainActor.run {}
    let next = Task.immediate {
      let isOnMain = DispatchOptions.when(stage) { _ in
        places.record(Here.isMainQueue)
        return true
      }
      return await dispatcher.send(
        Script.adds("next"), to: "other", mode: .mainThread, options: isOnMain
      ).isSuccess
    }
    waits.cancel()
    #expect(await waits.value.error is CancellationError)
    #expect(await next.value)
    #expect(other.model == ["next"])
    #expect(Set(places.all) == [true])
    free.open()
    #expect(await awaited.result.isSuccess)
  }
}

/// An actor that sends, and that blocks its thread until it may end, for half a minute at most.
private actor Home {
  nonisolated let mayEnd = DispatchSemaphore(value: 0)

  func send(
    _ script: Script, _ options: DispatchOptions, by dispatcher: Dispatcher
  ) async -> Bool {
    await dispatcher.send(script, mode: .mainThread, options: options).isSuccess
  }

  /// Returns whether it may end.
  func block(opening isBlocked: Latch) -> Bool {
    isBlocked.open()
    return mayEnd.wait(timeout: .now() + .seconds(30)) == .success
  }
}

/// Records each hook by its name.
private final class HookRecorder: Middleware {
  private let log: Recorder<String>

  init(to log: Recorder<String>) {
    self.log = log
  }

  func dispatchWillBegin(_ dispatch: DispatchInfo) { log.record("begin") }

  func willDispatch(
    transaction: DispatchInfo, action: AnyAction, in store: AnyStore
  ) -> MiddlewareVerdict {
    log.record("will")
    return .pass
  }

  func didDispatch(transaction: StoreRunInfo, action: AnyAction, in store: AnyStore) {
    log.record("did")
  }

  func dispatchDidEnd(_ dispatch: DispatchInfo, result: DispatchResult) { log.record("end") }
}
