import DispatchStore
import Foundation
import Synchronization
import Testing

@Suite("The queue's width", .serialized, .timeLimit(.minutes(10)))
struct QueueWidthTests {
  /// What is to run concurrently.
  enum Kind: CaseIterable, Sendable {
    case async, lanes, both

    func mode(_ index: Int) -> Dispatcher.Mode {
      switch self {
      case .async: .async
      case .lanes: .serial(lane: index)
      case .both: index.isMultiple(of: 2) ? .async : .serial(lane: index)
      }
    }
  }

  let presence = Presence()

  private func dispatcher(width: Int) -> Dispatcher {
    let dispatcher = Dispatcher(queue: .wide(width))
    // Other tests block the system's threads of the default quality of service.
    dispatcher.queue.qualityOfService = .utility
    dispatcher.addStage()
    return dispatcher
  }

  @Test(arguments: Kind.allCases, [1, 2, 4, 64])
  func isNeverExceeded(_ kind: Kind, _ width: Int) async {
    let total = Load.count(1_000)
    let (dispatcher, ends) = (dispatcher(width: width), EventCount(of: total))
    for index in 0..<total {
      dispatcher.dispatch(
        action: Script.runs { [presence] _ in presence.visit() }, mode: kind.mode(index % 200)
      ) { ends.add() }
    }
    await ends.full()
    #expect(presence.largest <= width)
  }

  /// Where its threads block, the system adds about one in a second: 64 take a while.
  @Test(arguments: Kind.allCases, Load.isLong ? [1, 2, 4, 64] : [1, 2, 4])
  func isUsedInFull(_ kind: Kind, _ width: Int) async {
    let (dispatcher, crowd) = (dispatcher(width: width), Crowd(of: width))
    let ends = EventCount(of: 3 * width)
    for index in 0..<(3 * width) {
      dispatcher.dispatch(action: Script.runs { _ in crowd.stay() }, mode: kind.mode(index)) {
        ends.add()
      }
    }
    await ends.full()
    #expect(crowd.largest == width)
  }

  /// A thread that has waited runs on beside the queue: it finishes its action, and starts no other.
  @Test(arguments: [Dispatcher.Mode.serial, .serial(lane: "named")])
  func isKeptByAThreadThatHasWaited(_ mode: Dispatcher.Mode) async {
    let (dispatcher, ends, began) = (dispatcher(width: 1), EventCount(of: 2), Latch())
    let queue = dispatcher.queue
    let isOnQueue = Recorder<Bool>()
    let waits = Script.runs { [dispatcher] _ in
      began.wait()
      let awaited = dispatcher.dispatch(action: Script.runs { _ in }, mode: .async)
      dispatcher.dispatch(action: Script.runs { _ in }, mode: .sync, options: .after(awaited))
    }
    let isNext = Script.runs { _ in
      isOnQueue.record(queue.operations.contains(where: \.isExecuting))
    }
    dispatcher.dispatch(action: waits, mode: mode) { ends.add() }
    dispatcher.dispatch(action: isNext, mode: mode) { ends.add() }
    began.open()
    await ends.full()
    #expect(isOnQueue.all == [true])
  }

  @Test(arguments: Kind.allCases)
  func mayGrowWhileWorkIsQueued(_ kind: Kind) async {
    let (dispatcher, crowd, ends) = (dispatcher(width: 1), Crowd(of: 2), EventCount(of: 41))
    let (began, grown) = (Latch(), Latch())
    dispatcher.dispatch(
      action: Script.blocks(opening: began, until: grown), mode: kind.mode(100)
    ) { ends.add() }
    await began.opened()
    let script = Script.runs { _ in crowd.stay() }
    for index in 0..<38 {
      dispatcher.dispatch(action: script, mode: kind.mode(index)) { ends.add() }
    }
    dispatcher.queue.maxConcurrentOperationCount = 2
    // The next dispatch adds a drainer, which takes what was queued before.
    for index in 38..<40 {
      dispatcher.dispatch(action: script, mode: kind.mode(index)) { ends.add() }
    }
    grown.open()
    await ends.full()
    #expect(crowd.largest == 2)
  }

  /// An action that blocks until the one queued behind it has run.
  private func blockOnTheNext(_ dispatcher: Dispatcher, _ kind: Kind) async -> DispatchHandle {
    let (began, next) = (Latch(), Latch())
    let handle = dispatcher.dispatch(
      action: Script.blocks(opening: began, until: next), mode: kind.mode(0))
    await began.opened()
    dispatcher.dispatch(action: Script.runs { _ in next.open() }, mode: kind.mode(1))
    return handle
  }

  /// More run than it is wide then; nothing is dispatched after it is widened.
  @Test(arguments: Kind.allCases)
  func takesEffectAtOnceAlsoWhereItWasNarrowedBefore(_ kind: Kind) async {
    let dispatcher = dispatcher(width: 3)
    let (began, ended, last) = (EventCount(of: 2), EventCount(of: 3), Latch())
    let blocked = Script.runs { _ in
      began.add()
      last.wait()
    }
    for index in 0..<2 {
      dispatcher.dispatch(action: blocked, mode: kind.mode(index)) { ended.add() }
    }
    await began.full()
    // In the third place, which is free again after it.
    await dispatcher.dispatch(action: Script.adds("a"), mode: kind.mode(2)).ended()
    dispatcher.queue.maxConcurrentOperationCount = 1
    let opening = Script.runs { _ in last.open() }
    dispatcher.dispatch(action: opening, mode: kind.mode(2)) { ended.add() }
    dispatcher.queue.maxConcurrentOperationCount = 3
    await ended.full()
  }

  @Test(arguments: Kind.allCases, [1, 3])
  func takesEffectAtOnceAlsoOnAUsersOwnQueue(_ kind: Kind, _ others: Int) async {
    let dispatcher = dispatcher(width: 1)
    let blocked = await blockOnTheNext(dispatcher, kind)
    dispatcher.queue.maxConcurrentOperationCount = 1 + others
    #expect(await blocked.result.isSuccess)
  }

  @Test(arguments: Kind.allCases, [true, false])
  func takesEffectAtOnceForEachDispatcherOnTheQueue(_ kind: Kind, _ isReleased: Bool) async {
    let dispatcher = Dispatcher()
    dispatcher.addStage()
    dispatcher.queue.maxConcurrentOperationCount = 1
    var other: Dispatcher? = Dispatcher(queue: dispatcher.queue)
    if isReleased { other = nil }
    let blocked = await blockOnTheNext(dispatcher, kind)
    dispatcher.queue.maxConcurrentOperationCount = 2
    #expect(await blocked.result.isSuccess)
    withExtendedLifetime(other) {}
  }

  /// Lanes that have a drainer request no other; also where the queue does not report its new width.
  @Test(arguments: [true, false])
  func mayGrowUnderFloodedLanes(_ isOfTheLibrary: Bool) async {
    let dispatcher = isOfTheLibrary ? Dispatcher() : dispatcher(width: 1)
    dispatcher.queue.maxConcurrentOperationCount = 1
    let (crowd, ends) = (Crowd(of: 2), EventCount(of: 2))
    let (began, grown) = (Latch(), Latch())
    for lane in ["a", "b"] { dispatcher.addStage(lane) }
    func dispatch(_ script: Script, to lane: String) -> DispatchHandle {
      dispatcher.dispatch(storeIdentifier: lane, action: script, mode: .serial(lane: lane))
    }
    let first = Script.blocks(opening: began, until: grown)
    _ = dispatch(first, to: "a")
    await began.opened()
    for lane in ["a", "b"] {
      for _ in 0..<300 { _ = dispatch(.runs { _ in }, to: lane) }
      dispatcher.dispatch(
        storeIdentifier: lane, action: Script.runs { _ in crowd.stay() }, mode: .serial(lane: lane)
      ) { ends.add() }
    }
    dispatcher.queue.maxConcurrentOperationCount = 2
    grown.open()
    await ends.full()
    #expect(crowd.largest == 2)
  }

  @Test(arguments: [true, false])
  func mayBeTheLargestInteger(_ isOfTheLibrary: Bool) async {
    let dispatcher = isOfTheLibrary ? Dispatcher() : dispatcher(width: .max)
    dispatcher.queue.maxConcurrentOperationCount = .max
    dispatcher.addStage("a")
    for kind in Kind.allCases {
      for index in 0..<3 {
        let handle = dispatcher.dispatch(
          storeIdentifier: "a", action: Script.adds("x"), mode: kind.mode(index))
        #expect(await handle.result.isSuccess)
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func mayShrinkWhileWorkIsQueued(_ kind: Kind) async {
    let (dispatcher, ends) = (dispatcher(width: 2), EventCount(of: 502))
    let (began, shrunk) = (Recorder<Int>(), Latch())
    for index in 0..<2 {
      dispatcher.dispatch(
        action: Script.runs { _ in
          began.record(index)
          shrunk.wait()
        }, mode: kind.mode(1_000 + index)
      ) { ends.add() }
    }
    _ = await began.first(2)
    for index in 0..<500 {
      dispatcher.dispatch(
        action: Script.runs { [presence] _ in presence.visit() }, mode: kind.mode(index)
      ) { ends.add() }
    }
    dispatcher.queue.maxConcurrentOperationCount = 1
    shrunk.open()
    await ends.full()
    #expect(presence.largest == 1)
  }

  @Test(arguments: Kind.allCases)
  func mayChangeAgainAndAgainAndNothingIsLost(_ kind: Kind) async {
    let (dispatcher, ends) = (dispatcher(width: 1), EventCount(of: 3_000))
    for index in 0..<3_000 {
      dispatcher.dispatch(
        action: Script.runs { [presence] _ in presence.visit() }, mode: kind.mode(index % 50)
      ) { ends.add() }
      if index.isMultiple(of: 100) {
        dispatcher.queue.maxConcurrentOperationCount = 1 + (index / 100) % 4
      }
    }
    await ends.full()
    #expect(presence.largest <= 4)
  }
}

/// Counts the threads that are in `visit()` at once, and keeps the largest number seen.
final class Presence: Sendable {
  private let present = Atomic(0)
  private let most = Atomic(0)

  var largest: Int { most.load(ordering: .acquiring) }

  func visit() {
    let here = present.add(1, ordering: .acquiringAndReleasing).newValue
    _ = most.max(here, ordering: .acquiringAndReleasing)
    // Gives further threads the time to enter.
    sched_yield()
    present.subtract(1, ordering: .acquiringAndReleasing)
  }
}
