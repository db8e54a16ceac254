import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Lanes that dispatches and tasks use in turn, under names whose hashes are equal.
  static let laneNames = Scenario(
    name: "lane-names", summary: "a lane that is used again has its new name alone, in both forms"
  ) { dispatcher, simulation in
    let watch = LaneWatch()
    let reducer = PlainReducer<Turn> { _, turn in
      watch.enter(turn)
      watch.leave(turn)
    }
    dispatcher.register(store: Store(identifier: "plain", reducer: reducer))
    dispatcher.makeStore("operations", of: Turn.self) { $0.operation(in: $1, watch) }
    async let cancelled: Void = cancelWhileSuspended(dispatcher, simulation, watch)
    // Holds a lane while another one, whose hash is the same, has to go on.
    async let crossing: Void = watch.send(Turn(8, 1, 1, .crossing), by: dispatcher)
    await concurrently(1...3) { producer in
      for turn in 1...2 {
        let lane = (producer + turn) % 3 + 1
        let handle = watch.dispatch(
          Turn(producer, turn * 10 + 1, lane, Turn.ways[(producer + turn) % 4]), by: dispatcher)
        await watch.send(
          Turn(producer, turn * 10 + 2, lane, Turn.ways[(producer + 2 * turn) % 4]), by: dispatcher)
        await handle.ended()
      }
    }
    _ = await (cancelled, crossing)
    try check(watch.lanes.faults.now.isEmpty, "\(watch.lanes.faults.now)")
    let log = watch.begun.now
    for turn in watch.made.now {
      let (runs, results) = (log.count { $0.id == turn.id }, watch.results[turn.id] ?? [])
      try check(results.count == 1, "\(turn) completed \(results.count) times")
      let result = results[0]
      let returned = watch.handles[turn.id]?.resultIfEnded ?? watch.returned[turn.id]
      try check(
        "\(result)" == returned.map { "\($0)" }, "\(turn): \(result), not \(returned as Any)")
      if turn.mayBeCancelled, result[turn.store].isCancelled == true {
        try check(
          runs == 0 || watch.ended.now.contains(turn.id), "\(turn) has not ended: \(result)")
      } else {
        try check(result.isSuccess && runs == 1, "\(turn) ran \(runs) times: \(result)")
      }
    }
    for producer in 1...3 {
      for lane in 1...3 {
        let own = log.filter { $0.producer == producer && $0.lane == lane }.map(\.number)
        try check(own == own.sorted(), "\(own) is not the order of producer \(producer) in \(lane)")
      }
    }
  }
}

/// Cancels a dispatch and a task, which wait for their turns, while the queue is suspended.
private func cancelWhileSuspended(
  _ dispatcher: Dispatcher, _ simulation: SimulationControl, _ watch: LaneWatch
) async {
  dispatcher.queue.isSuspended = true
  let handle = watch.dispatch(Turn(9, 1, 2, .slow), by: dispatcher)
  await withTaskGroup { group in
    group.addTask { await watch.send(Turn(9, 2, 3, .slow), by: dispatcher) }
    // The clock's time passes when all others wait: then both are cancelled in their lanes' inboxes.
    if simulation.draw(below: 2) == 0 {
      try? await simulation.clock.sleep(for: .seconds(1))
    }
    group.cancelAll()
    handle.cancel()
    simulation.startThread { dispatcher.queue.isSuspended = false }
  }
  await handle.ended()
}

/// A lane's name; the hashes of all are equal.
private struct LaneName: Hashable, Sendable, CustomStringConvertible {
  let number: Int

  func hash(into hasher: inout Hasher) {
    hasher.combine(0)
  }

  var description: String { "\(number)" }
}

/// An action in a lane.
private struct Turn: ActionType {
  enum Way {
    case plain, work, slow, late, crossing
  }
  static let ways = [Way.plain, .work, .slow, .late]

  let producer: Int
  let number: Int
  let lane: Int
  let way: Way

  init(_ producer: Int, _ number: Int, _ lane: Int, _ way: Way) {
    (self.producer, self.number, self.lane, self.way) = (producer, number, lane, way)
  }

  var id: Int { producer * 100 + number }
  var store: String { way == .plain ? "plain" : "operations" }
  var mode: Dispatcher.Mode { .serial(lane: LaneName(number: lane)) }
  var mayBeCancelled: Bool { producer == 9 }

  func operation(
    in store: Store<Journal, Turn>, _ watch: LaneWatch
  ) -> ActionOperation<Journal, Turn> {
    switch way {
    case .plain, .work, .slow:
      entering(id, for: self, in: store, isAsync: way == .slow) {
        $0 > 0 ? watch.enter(self) : watch.leave(self)
      }
    case .late:
      ActionOperation(action: self, store: store) { operation, action, store in
        watch.enter(action)
        store.dispatcher?.simulation?.startThread {
          watch.leave(action)
          operation.finish()
        }
      }
    case .crossing:
      ActionOperation(action: self, store: store) { action, store async in
        watch.enter(action)
        guard let dispatcher = store.dispatcher else { return }
        // In a lane whose holders wait for no other.
        await watch.dispatch(Turn(8, 2, 3, .slow), by: dispatcher).ended()
        await watch.send(Turn(8, 3, 2, .work), by: dispatcher)
        watch.leave(action)
      }
    }
  }
}

/// The events in the lanes.
private final class LaneWatch: Sendable {
  let lanes = Holders<Int>()
  let begun = Shared([Turn]())
  let ended = Shared(Set<Int>())
  /// The actions that were dispatched or sent, and the results with which they completed, by their numbers.
  let made = Shared([Turn]())
  let results = Shared([Int: [DispatchResult]]())
  /// What calls gave, by the numbers of their actions.
  let handles = Shared([Int: DispatchHandle]())
  let returned = Shared([Int: DispatchResult]())

  func enter(_ turn: Turn) {
    begun.append(turn)
    lanes.note(turn.id, in: [turn.lane])
  }

  func leave(_ turn: Turn) {
    lanes.note(-turn.id, in: [turn.lane])
    ended.with { _ = $0.insert(turn.id) }
  }

  func dispatch(_ turn: Turn, by dispatcher: Dispatcher) -> DispatchHandle {
    made.append(turn)
    let handle = dispatcher.dispatch(turn, to: turn.store, mode: turn.mode) { [results] result in
      results.append(result, at: turn.id)
    }
    handles[turn.id] = handle
    return handle
  }

  func send(_ turn: Turn, by dispatcher: Dispatcher) async {
    made.append(turn)
    let sent = await dispatcher.send(turn, to: turn.store, mode: turn.mode) { [results] result in
      results.append(result, at: turn.id)
    }
    returned[turn.id] = sent.result
  }
}
