import DispatchStore
import Foundation
import Testing

@Suite("Suspension of a queue under load", .timeLimit(.minutes(10)))
struct SuspensionUnderLoadTests {
  /// Whose queue it is.
  enum Owner: CaseIterable, Sendable {
    case dispatcher, user, userWithAQueueUnderneath

    // An operation queue does not retain its underlying queue.
    private static let underneath = DispatchQueue(label: "underneath", attributes: .concurrent)

    func makeDispatcher(width: Int) -> Dispatcher {
      let dispatcher: Dispatcher
      switch self {
      case .dispatcher:
        dispatcher = Dispatcher()
      case .user:
        dispatcher = Dispatcher(queue: OperationQueue())
      case .userWithAQueueUnderneath:
        let queue = OperationQueue()
        queue.underlyingQueue = Self.underneath
        dispatcher = Dispatcher(queue: queue)
      }
      dispatcher.queue.maxConcurrentOperationCount = width
      dispatcher.addStage()
      return dispatcher
    }
  }

  let log = Recorder<Int>()

  /// Gives suspended work the time to run by mistake, by dispatches in modes that suspension does not touch.
  private func useFreeModes(of dispatcher: Dispatcher) async {
    for _ in 0..<20 {
      let free = Script.runs { _ in }
      #expect(dispatcher.dispatch(action: free, mode: .sync).hasEnded)
      #expect(await dispatcher.dispatch(action: free, mode: .mainThread).result.isSuccess)
    }
  }

  @Test(arguments: Dispatcher.Mode.offMainModes, Owner.allCases)
  func holdsBackThousandsOfPendingActionsAndThenRunsThemInOrder(
    _ mode: Dispatcher.Mode, _ owner: Owner
  ) async {
    let (dispatcher, log) = (owner.makeDispatcher(width: 1), log)
    let total = Load.count(3_000)
    dispatcher.queue.isSuspended = true
    for index in 0..<total {
      dispatcher.dispatch(action: Script.runs { _ in log.record(index) }, mode: mode)
    }
    await useFreeModes(of: dispatcher)
    #expect(log.count == 0)
    dispatcher.queue.isSuspended = false
    #expect(await log.first(total) == Array(0..<total))
  }

  @Test(arguments: Dispatcher.Mode.offMainModes, Owner.allCases)
  func takesEffectInTheMiddleOfABurst(_ mode: Dispatcher.Mode, _ owner: Owner) async {
    let (dispatcher, log) = (owner.makeDispatcher(width: 1), log)
    let suspended = [Latch(), Latch()]
    dispatcher.queue.isSuspended = true
    for index in 0..<2_000 {
      dispatcher.dispatch(
        action: Script.runs { _ in
          log.record(index)
          guard index % 700 == 699 else { return }
          dispatcher.queue.isSuspended = true
          suspended[index / 700].open()
        }, mode: mode)
    }
    dispatcher.queue.isSuspended = false
    await suspended[0].opened()
    await useFreeModes(of: dispatcher)
    #expect(log.all == Array(0..<700))
    dispatcher.queue.isSuspended = false
    await suspended[1].opened()
    await useFreeModes(of: dispatcher)
    #expect(log.all == Array(0..<1_400))
    dispatcher.queue.isSuspended = false
    #expect(await log.first(2_000) == Array(0..<2_000))
  }

  @Test(arguments: Owner.allCases)
  func cancellingAllOperationsOfTheQueueCancelsNothingThatWasDispatched(_ owner: Owner) async {
    let dispatcher = owner.makeDispatcher(width: 2)
    dispatcher.queue.isSuspended = true
    let handles = (0..<20).map { index in
      dispatcher.dispatch(
        action: Script.runs { _ in }, mode: index.isMultiple(of: 2) ? .async : .serial(lane: index))
    }
    dispatcher.queue.cancelAllOperations()
    dispatcher.queue.isSuspended = false
    for handle in handles { #expect(await handle.result.isSuccess) }
  }

  @Test(arguments: Owner.allCases)
  func fromAnotherThreadLetsEachThreadOfTheQueueStartNoMoreThanOne(_ owner: Owner) async {
    let (dispatcher, log) = (owner.makeDispatcher(width: 2), log)
    dispatcher.queue.isSuspended = true
    for index in 0..<4_000 {
      dispatcher.dispatch(
        action: Script.runs { _ in log.record(index) },
        mode: index.isMultiple(of: 2) ? .async : .serial(lane: index % 10))
    }
    dispatcher.queue.isSuspended = false
    _ = await log.first(100)
    dispatcher.queue.isSuspended = true
    let count = log.count
    await useFreeModes(of: dispatcher)
    #expect(log.count <= count + 2)
    dispatcher.queue.isSuspended = false
    #expect(Set(await log.first(4_000)).count == 4_000)
  }

  @Test(arguments: Dispatcher.Mode.offMainModes)
  func stopsAChainBetweenItsLinks(_ mode: Dispatcher.Mode) async {
    let (dispatcher, log) = (Owner.dispatcher.makeDispatcher(width: 2), log)
    let (suspended, ended) = (Latch(), Latch())
    @Sendable func link(_ index: Int) {
      guard index < 1_000 else { return ended.open() }
      let script = Script.runs { _ in
        log.record(index)
        guard index == 500 else { return }
        dispatcher.queue.isSuspended = true
        suspended.open()
      }
      dispatcher.dispatch(action: script, mode: mode) { link(index + 1) }
    }
    link(0)
    await suspended.opened()
    await useFreeModes(of: dispatcher)
    #expect(log.count == 501)
    dispatcher.queue.isSuspended = false
    await ended.opened()
    #expect(log.all == Array(0..<1_000))
  }

  @Test(arguments: Dispatcher.Mode.offMainModes, Owner.allCases)
  func hammeredFromAnotherThreadLosesNothing(_ mode: Dispatcher.Mode, _ owner: Owner) async {
    let total = Load.count(10_000)
    let (dispatcher, log) = (owner.makeDispatcher(width: 2), log)
    let hammered = Latch()
    Thread {
      // As often as the queue gets on, and so in the middle of a batch.
      for count in stride(from: 0, to: total, by: 2) {
        log.waitFor(count)
        dispatcher.queue.isSuspended = true
        sched_yield()
        dispatcher.queue.isSuspended = false
      }
      hammered.open()
    }.start()
    for index in 0..<total {
      dispatcher.dispatch(action: Script.runs { _ in log.record(index) }, mode: mode)
    }
    let all = await log.first(total)
    await hammered.opened()
    #expect(log.count == total)
    #expect((mode == .async ? all.sorted() : all) == Array(0..<total))
  }
}
