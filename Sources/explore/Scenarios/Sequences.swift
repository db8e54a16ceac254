import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Sequences in all modes, some of which are cancelled or suspended between two actions.
  static let sequences = Scenario(
    name: "sequences", summary: "a sequence runs in order, and its result says how far"
  ) { dispatcher, simulation in
    let store = dispatcher.makeJournal("journal")
    let completions = Shared([Int: Int]())
    let sequences: [(actions: [Entry], mode: Dispatcher.Mode, options: DispatchOptions)] = [
      ([.work(11), .slow(12), .note(13)], .serial, DispatchOptions()),
      ([.work(21), .slow(22), .note(23)], .serial, DispatchOptions()),
      ([.note(31), .fail(32), .note(33)], .async, DispatchOptions()),
      ([.fail(41), .work(42), .note(43)], .async, .continuingOnFailure),
      ([.slow(51), .note(52)], .mainThread, DispatchOptions()),
      ([.work(61), .slow(62), .fail(63)], .sync, DispatchOptions()),
    ]
    async let stop: Void = {
      dispatcher.queue.isSuspended = true
      for _ in 0..<3 { _ = store.model }
      dispatcher.queue.isSuspended = false
    }()
    let pairs = await concurrently(sequences.enumerated()) { place, sequence in
      let handle = dispatcher.dispatch(
        actions: sequence.actions, mode: sequence.mode, options: sequence.options
      ) {
        completions.with { $0[sequence.actions[0].number, default: 0] += 1 }
      }
      if place == 1 || place == 4 { simulation.startThread { handle.cancel() } }
      return (place, await handle.result)
    }
    let results = Dictionary(uniqueKeysWithValues: pairs)
    await stop
    let entries = store.model.entries
    for (place, sequence) in sequences.enumerated() {
      let (numbers, result) = (sequence.actions.map(\.number), results[place]!)
      let own = entries.filter(numbers.contains)
      try check(own == own.sorted(), "\(own) is not the order of the sequence")
      let ended = zip(numbers, result.steps).filter { $1["journal"].isFinished == true }.map(\.0)
      try check(own == ended, "\(own) have run, and \(ended) are said to have finished")
      try check(
        result.steps.count + result.skippedActionCount == numbers.count, "\(place): \(result)")
      try check(completions[numbers[0]] == 1, "completions ran \(completions.now)")
    }
    try check(results[0]!.isSuccess, "\(results[0]!)")
    try check(entries.filter { $0 / 10 == 3 } == [31], "\(entries)")
    try check(entries.filter { $0 / 10 == 4 } == [42, 43], "\(entries)")
    let inLane = entries.filter { $0 / 10 <= 2 }.map { $0 / 10 }
    try check(inLane.sorted() == inLane || inLane.sorted(by: >) == inLane, "\(entries) mix")
  }
}
