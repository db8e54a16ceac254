import DispatchStore
import DispatchStoreTesting
import Foundation

extension Scenario {
  /// Observers that are added and cancelled meanwhile, also by observers: inline, on a queue and on the main
  /// queue.
  static let tokens = Scenario(
    name: "tokens",
    summary: "an observer gets all commits from its first one on, until it is cancelled"
  ) { dispatcher, simulation in
    let store = dispatcher.makePlainJournal("journal")
    let tokens = Shared([Int: ObserverToken]())
    let cancelled = Shared(Set<Int>())
    let delivered = Shared([Int: [UInt64]]())
    let faults = Shared([String]())
    @Sendable func cancel(_ number: Int) {
      guard let token = tokens.with({ $0.removeValue(forKey: number) }) else { return }
      token.cancel()
      cancelled.with { _ = $0.insert(number) }
    }
    @Sendable func record(_ number: Int, _ version: UInt64, _ count: Int) {
      if cancelled.now.contains(number) { faults.note("\(number) was cancelled") }
      let isNext = delivered.with { delivered in
        defer { delivered[number, default: []].append(version) }
        return delivered[number]?.last.map { $0 + 1 == version } ?? true
      }
      if !isNext { faults.note("\(number): \(delivered[number]!)") }
      if number == 1, count == 2 { cancel(1) }
      if number == 2, count == 3 { cancel(3) }
    }
    @Sendable func observe(
      _ number: Int, _ delivery: ObserverDelivery, _ initial: Bool = false
    ) {
      let count = StateSelector<Journal, Int> { $0.entries.count }
      let token = store.observe(.select(count), initial: initial, on: delivery) {
        record(number, $0.version, $0.value)
      }
      tokens[number] = token
    }
    observe(1, .inline)
    // The second observer follows the whole model.
    tokens[2] = store.observe(.model) { record(2, $0.version, $0.value.entries.count) }
    observe(3, .inline)
    observe(4, .queue(DispatchQueue(label: "observer")))
    tokens[5] = store.observe(.part(\.entries.count), on: .main) { record(5, $0.version, $0.value) }
    simulation.startThread { observe(6, .inline, true) }
    simulation.startThread { observe(7, .queue(DispatchQueue(label: "late")), true) }
    simulation.startThread { cancel(3) }
    simulation.startThread { cancel(5) }
    async let update: Void = store.updateModel { $0.entries.append(4) }
    await concurrently(1...3) { number in
      let mode: Dispatcher.Mode = [.sync, .async, .serial][number - 1]
      _ = await dispatcher.dispatch(action: Entry.note(number), mode: mode).result
    }
    await update
    // No dispatch waits for observers on queues, nor for those that are added meanwhile.
    while tokens[6] == nil || tokens[7] == nil || delivered[4]?.last != 4
      || delivered[7]?.last != 4 || delivered[6]?.last != 4
    {
      await Task.yield()
    }
    try check(faults.now.isEmpty, "\(faults.now)")
    try check(
      delivered[2] == [1, 2, 3, 4] && delivered[4] == [1, 2, 3, 4], "\(delivered.now)")
    try check(delivered[1]?.prefix(2) == [1, 2], "\(delivered.now)")
    for number in [3, 5] {
      let versions = delivered[number] ?? []
      try check(
        versions == Array(1...4).prefix(versions.count).map(UInt64.init),
        "\(number) got \(versions)")
    }
    for number in 1...7 { cancel(number) }
    while cancelled.now.count < 7 { await Task.yield() }
    _ = await dispatcher.dispatch(action: Entry.note(5), mode: .serial).result
    try check(
      delivered.now.values.allSatisfy { !$0.contains(5) },
      "delivered after the end: \(delivered.now)")
  }
}
