import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Many that wait are cancelled, while tasks and operations hold the lane by turns.
  static let skips = Scenario(
    name: "skips", summary: "what waits among cancelled ones has its turn, in order"
  ) { dispatcher in
    let events = Shared([Int]())
    let store = dispatcher.makeJournal("journal") { number in
      if number > 0 { events.with { $0.append(number) } }
    }
    // Steps during which a task holds a lane without a record.
    for number in 1...6 { _ = dispatcher.makePlainJournal("plain \(number)") }
    let modes: [Dispatcher.Mode] = [.serial(lane: "a"), .serial, .mainThread, .async]
    await withTaskGroup { group in
      for (index, mode) in modes.enumerated() {
        group.addTask {
          let first = 100 * (index + 1)
          var kept: [DispatchHandle] = []
          for number in first..<(first + 16) {
            let handle = store.dispatch(.work(number), mode: mode)
            if number % 4 == 0 { kept.append(handle) } else { handle.cancel() }
          }
          for handle in kept { await handle.ended() }
        }
        group.addTask {
          // A dispatch that is sent to the main lane leaves the simulated world.
          guard index != 2 else { return }
          for number in [1, 2, 3] {
            await dispatcher.send(Entry.note(1_000 * (index + 1) + number), mode: mode)
          }
        }
      }
    }
    for index in 1...3 {
      let kept = events.now.filter { $0 / 100 == index && $0 % 4 == 0 }
      try check(kept == [0, 4, 8, 12].map { 100 * index + $0 }, "\(kept)")
    }
    let sent = store.model.entries.filter { $0 >= 1_000 }
    try check(sent.count == 9, "\(sent) were sent")
  }
}
