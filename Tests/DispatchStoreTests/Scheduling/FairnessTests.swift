import DispatchStore
import Foundation
import Testing

@Suite("Fairness", .serialized, .timeLimit(.minutes(5)))
struct FairnessTests {
  /// The most actions of a flood that run before somebody else has a turn: a lane's batch, with room.
  static let bound = 1_024

  /// What the queue is full of.
  enum Flood: CaseIterable, Sendable {
    /// Pending on one lane, or on the concurrent queue.
    case lane, async
    /// Each dispatched to one lane by the completion of the one before.
    case chain

    var mode: Dispatcher.Mode { self == .async ? .async : .serial(lane: "flood") }
  }

  /// Who wants a turn meanwhile.
  enum Guest: CaseIterable, Sendable {
    case lane, defaultLane, async, usersOperation
  }

  @Test(arguments: [Guest.lane, .defaultLane, .async])
  func aFloodedLaneLetsOthersHaveTheirTurn(_ guest: Guest) async {
    await Self.expectATurn(for: guest, in: .lane)
  }

  @Test(arguments: [Guest.lane, .defaultLane, .async])
  func aChainThatGoesOnOnItsLaneLetsOthersHaveTheirTurn(_ guest: Guest) async {
    await Self.expectATurn(for: guest, in: .chain)
  }

  @Test func aFloodedConcurrentQueueLetsAUsersOwnOperationHaveItsTurn() async {
    await Self.expectATurn(for: .usersOperation, in: .async)
  }

  /// Has guests asked for by actions of a flood in a queue of one thread, and counts what overtook them.
  static func expectATurn(for guest: Guest, in flood: Flood) async {
    let total = Load.count(20_000, long: 100_000)
    let dispatcher = Dispatcher(queue: .wide(1))
    dispatcher.addStage()
    let (ran, overtaken) = (EventCount(of: total), Recorder<Int>())
    let script = Script.runs { _ in
      let index = ran.add()
      guard index.isMultiple(of: total / 20) else { return }
      ask(guest, in: dispatcher) { overtaken.record(ran.count - index) }
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

  private static func ask(
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
