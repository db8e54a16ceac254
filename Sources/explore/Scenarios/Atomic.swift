import DispatchStore
import DispatchStoreTesting

extension Scenario {
  /// Atomic transfers between three stores, in two orders and several modes; some fail in the last store.
  static let atomic = Scenario(
    name: "atomic",
    summary: "an atomic action changes all of its stores, or none, and nobody sees less"
  ) { dispatcher, simulation in
    let names = ["a", "b", "c"]
    let stores = names.map { name in
      dispatcher.register(
        store: Store(identifier: name, model: Account(), reducer: AccountReducer(name)))
    }
    stores[simulation.draw(below: 3)].undoesInPlace(\.entries)
    let faults = Shared([String]())
    @Sendable func checkSum(_ reader: String) {
      let snapshot = dispatcher.snapshot(stores[0], stores[1], stores[2])
      let (a, b, c) = snapshot.models
      if a.balance + b.balance + c.balance != 0 || a.entries.count != c.entries.count {
        faults.note("\(reader) has seen \(a), \(b), \(c)")
      }
    }
    let seen = Shared([String: Account]())
    let versions = Shared([String: UInt64]())
    let tokens = stores.filter { _ in simulation.draw(below: 3) > 0 }.map { store in
      store.observe(.model) { change in
        checkSum("an observer of \(store.identifier)")
        let last = versions[store.identifier] ?? 0
        let before = seen[store.identifier] ?? Account()
        let amount = change.action?.amounts[store.identifier] ?? 0
        if change.version != last + 1 || change.value.balance != before.balance + amount {
          faults.note("\(change.version) follows \(last), \(change.value) \(before)")
        }
        versions[store.identifier] = change.version
        seen[store.identifier] = change.value
      }
    }
    let postings = (1...7).map { Posting($0, simulation) }
    let results = Shared([Int: DispatchResult]())
    async let reader: Void = { for _ in 0..<4 { checkSum("a reader") } }()
    await concurrently(postings) { posting in
      results[posting.number] = await dispatcher.result(
        of: posting, mode: posting.mode, isSent: posting.isSent)
      checkSum("a caller")
    }
    await reader
    try check(faults.now.isEmpty, "\(faults.now)")
    for (index, store) in stores.enumerated() {
      let done = postings.filter { !$0.fails }
      let model = store.model
      let balance = done.map { $0.amounts[names[index]] ?? 0 }.reduce(0, +)
      try check(model.balance == balance, "\(names[index]) has \(model), not \(balance)")
      try check(
        Set(model.entries.keys) == Set(done.map(\.number))
          && done.allSatisfy { model.entries[$0.number] == $0.amounts[names[index]] },
        "\(names[index]) has \(model)")
      try check(store.version == UInt64(done.count), "\(store.version) of \(done.count) versions")
    }
    for posting in postings {
      let result = results[posting.number]!
      try check(result.isSuccess == !posting.fails, "\(posting.number): \(result)")
      try check(!posting.fails || result.error is PostingFailure, "\(posting.number): \(result)")
    }
    withExtendedLifetime(tokens) {}
  }
}

private struct Account: Sendable {
  var balance = 0
  var entries = TrackedDictionary<Int, Int>()
}

private struct PostingFailure: Error {}

/// A transfer, as it was drawn.
private struct Posting: AtomicAction {
  let number: Int
  let amounts: [String: Int]
  let fails: Bool
  let isReversed: Bool
  let isSent: Bool
  let mode: Dispatcher.Mode

  init(_ number: Int, _ simulation: SimulationControl) {
    self.number = number
    let amount = 1 + simulation.draw(below: 9)
    amounts = ["a": -2 * amount, "b": amount, "c": amount]
    fails = simulation.draw(below: 3) == 0
    isReversed = simulation.draw(below: 2) == 0
    isSent = simulation.draw(below: 3) == 0
    mode = [.sync, .sync, .async, .serial, .serial(lane: number % 2)][simulation.draw(below: 5)]
  }
}

private final class AccountReducer: Reducer<Account, Posting> {
  private let name: String

  init(_ name: String) {
    self.name = name
  }

  /// Stores wait for the one before them in the alphabet, or for the one behind.
  override func waitFor(
    for action: Posting, in store: Store<Account, Posting>, declared: WaitFor
  ) -> WaitFor {
    switch (name, action.isReversed) {
    case ("a", true), ("c", false): ["b"]
    case ("b", true): ["c"]
    case ("b", false): ["a"]
    default: []
    }
  }

  override func reduce(into model: inout Account, action: Posting) throws {
    let amount = action.amounts[name] ?? 0
    model.entries[action.number] = 0
    model.entries[action.number] = amount
    model.balance += amount
    if action.fails, name == (action.isReversed ? "a" : "c") { throw PostingFailure() }
  }
}
