import DispatchStoreTesting
import Foundation
import Testing

@testable import DispatchStore

@Suite("Records with a time limit", .timeLimit(.minutes(10)))
struct LimitedRecordTests {
  static let hour = Duration.seconds(3_600)

  let clock = VirtualClock()
  let dispatcher: Dispatcher
  let store: CounterStore

  init() {
    dispatcher = Dispatcher(clock: clock)
    store = dispatcher.register(store: .counter())
  }

  /// Dispatches one after the other from the completion of the one before, and returns their records' identities.
  private func chain(
    _ count: Int, _ mode: Dispatcher.Mode, _ options: DispatchOptions
  ) async -> [ObjectIdentifier?] {
    let (dispatcher, records, ends) = (
      dispatcher, Recorder<ObjectIdentifier?>(), Recorder<Bool>()
    )
    @Sendable func next() {
      let handle = dispatcher.dispatch(CounterAction.add(1), mode: mode, options: options) {
        ends.record($0.isSuccess)
        if ends.count < count { next() }
      }
      records.record(handle.dispatch.map(ObjectIdentifier.init))
    }
    next()
    #expect(await ends.first(count).allSatisfy { $0 })
    return await records.first(count)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes, [false, true])
  func areUsedAgainAndAFormerDeadlineEndsNoSuccessor(_ mode: Dispatcher.Mode, hooked: Bool) async {
    if hooked { dispatcher.register(middleware: RecordingMiddleware("m", to: Recorder())) }
    let records = await chain(100, mode, .timeout(.seconds(1)))
    // Not each: a thread that has just scheduled one may still refer to it at its end.
    #expect(Set(records).count < records.count)
    let (began, free) = (Latch(), Latch())
    dispatcher.addStage()
    let holder = dispatcher.dispatch(
      action: Script.holds(opening: began, until: free), mode: mode, options: .timeout(Self.hour))
    await began.opened()
    await clock.waitForSleepers(atLeast: 1)
    let behind = dispatcher.dispatch(
      action: CounterAction.add(1), mode: mode, options: .timeout(Self.hour))
    clock.advance(by: .seconds(1))
    free.open()
    #expect(await holder.result.isSuccess)
    #expect(await behind.result.isSuccess)
    await dispatcher.timersAreGone()
    #expect(store.model.count == 101)
  }

  @Test(arguments: Dispatcher.Mode.queuedModes)
  func aTimerThatFiresAsTheDispatchEndsHasNoEffect(_ mode: Dispatcher.Mode) async throws {
    let records = Recorder<Dispatch>()
    let ends = Recorder<Bool>()
    let (dispatcher, ran) = (dispatcher, Latch())
    let handle = dispatcher.dispatch(CounterAction.add(1), mode: mode, options: .timeout(Self.hour))
    { result in
      // From here on the deadline is too late; the timer's thread still has the record.
      records.all.first?.timerFired()
      ends.record(result.isSuccess)
      ran.open()
    }
    if let dispatch = handle.dispatch { records.record(dispatch) }
    await ran.opened()
    #expect(await handle.result.isSuccess)
    records.all.first?.timerFired()
    #expect(await handle.result.isSuccess)
    #expect(ends.all == [true])
    let next = dispatcher.dispatch(
      action: CounterAction.add(1), mode: mode, options: .timeout(Self.hour))
    #expect(next.dispatch !== records.all.first)
    #expect(await next.result.isSuccess)
  }

  /// Each timer fires on another thread while its dispatch waits, runs, ends or has ended.
  @Test(arguments: Dispatcher.Mode.queuedModes)
  func endOnceAtTheirEndOrAtTheirDeadline(_ mode: Dispatcher.Mode) async {
    let count = Load.count(300)
    let (dispatcher, completions) = (dispatcher, Recorder<(Int, Bool)>())
    let handles = (0..<2 * count).map { _ in Locked<DispatchHandle?>(nil) }
    let (made, fired) = (Locked(0), Locked(0))
    await onOwnThreads(2) { thread in
      for index in 0..<count {
        if thread == 0 {
          for number in [2 * index, 2 * index + 1] {
            let handle = dispatcher.dispatch(
              CounterAction.add(1), mode: mode, options: .timeout(Self.hour)
            ) { completions.record((number, $0.isSuccess)) }
            if number % 2 == 0 { handles[number].withLock { $0 = handle } }
          }
          made.withLock { $0 += 1 }
        } else {
          while made.withLock({ $0 }) <= index { sched_yield() }
          let dispatch = handles[2 * index].withLock { $0?.dispatch }
          if let dispatch {
            fired.withLock { $0 += 1 }
            dispatch.timerFired()
          }
        }
      }
    }
    let ended = await completions.first(2 * count)
    #expect(Set(ended.map(\.0)).count == 2 * count)
    var successes = 0
    for (number, isSuccess) in ended {
      if isSuccess { successes += 1 }
      guard let handle = handles[number].withLock({ $0 }) else {
        #expect(isSuccess, "\(number) has timed out by another one's timer")
        continue
      }
      let result = await handle.result
      #expect(result.isSuccess == isSuccess)
      #expect(isSuccess || result.dispatchError?.code == .timedOut)
    }
    _ = await dispatcher.drain()
    #expect(store.model.count >= successes)
    await dispatcher.timersAreGone()
    #expect(fired.withLock { $0 } > 0)
  }
}
