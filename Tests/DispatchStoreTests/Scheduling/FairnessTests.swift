import DispatchStore
import Foundation
import Testing

@Suite("Fairness", .serialized, .timeLimit(.minutes(10)))
struct FairnessTests {
  /// The most actions of a flood that may run before a guest does: a lane's batch, with room.
  static let bound = 1_024

  /// What the queue is full of.
  enum Flood: CaseIterable, Sendable {
    /// Actions that are pending on one lane, or on the concurrent queue.
    case lane, async
    /// Actions that each the completion of the one before dispatches to one lane.
    case chain

    var mode: Dispatcher.Mode { self == .async ? .async : .serial(lane: "flood") }
  }

  /// What is to run in the middle of a flood.
  enum Guest: CaseIterable, Sendable {
    case lane, defaultLane, async, usersOperation
  }

  @Test(arguments: [Guest.lane, .defaultLane, .async])
  func aFloodedLaneDelaysOthersByABatchAtMost(_ guest: Guest) async {
    await Self.expectABound(for: guest, in: .lane)
  }

  @Test(arguments: [Guest.lane, .defaultLane, .async])
  func aChainOnALaneDelaysOthersByABatchAtMost(_ guest: Guest) async {
    await Self.expectABound(for: guest, in: .chain)
  }

  @Test func aFloodedConcurrentQueueDelaysAUsersOperationByABatchAtMost() async {
    await Self.expectABound(for: .usersOperation, in: .async)
  }

  /// In a queue of one thread, lets a flood's actions start guests, and counts the actions before each guest.
  static func expectABound(for guest: Guest, in flood: Flood) async {
    let total = Load.count(20_000, long: 100_000)
    let dispatcher = Dispatcher(queue: .wide(1))
    dispatcher.addStage()
    let (ran, overtaken) = (EventCount(of: total), Recorder<Int>())
    let script = Script.runs { _ in
      let index = ran.add()
      guard index.isMultiple(of: total / 20) else { return }
      start(guest, in: dispatcher) { overtaken.record(ran.count - index) }
    }
    @Sendable func link(_ left: Int) {
      guard left > 0 else { return }
      dispatcher.dispatch(action: script, mode: flood.mode) { link(left - 1) }
    }
    if flood == .chain {
      link(total)
    } else {
      dispatcher.queue.isSuspended = true
      for _ in 0..<total { dispatcher.dispatch(action: script, mode: flood.mode) }
      dispatcher.queue.isSuspended = false
    }
    await ran.full()
    let all = await overtaken.first(20)
    #expect(all.allSatisfy { $0 <= bound }, "\(all)")
  }

  private static func start(
    _ guest: Guest, in dispatcher: Dispatcher, _ body: @escaping @Sendable () -> Void
  ) {
    let script = Script.runs { _ in body() }
    switch guest {
    case .lane: dispatcher.dispatch(action: script, mode: .serial(lane: "guest"))
    case .defaultLane: dispatcher.dispatch(action: script, mode: .serial)
    case .async: dispatcher.dispatch(action: script, mode: .async)
    case .usersOperation: dispatcher.queue.addOperation(body)
    }
  }
}
